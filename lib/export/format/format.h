/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of file formats. A format writes everything that was collected from
 * requests. */
#ifndef OP_EXPORT_FORMAT_FORMAT_H
#define OP_EXPORT_FORMAT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "export/format/collect/collect.h"

struct op_format {
	uint32_t format; /* OTELPROF_FORMAT_* */
	enum op_collect_detail detail;
	bool timed; /* it needs op_collect_keep_times() */
	/* Write everything added so far to @fd, from its start. May be called again
	 * later. */
	int (*write)(const struct op_collect *c, int fd);
};

/* The format with that number, or NULL; also NULL for OTELPROF_FORMAT_OTLP. */
const struct op_format *op_format_get(uint32_t format);

/* Make an empty collection for @f, with the details that @f needs. Returns 0 or
 * -ENOMEM. */
int op_format_collect(const struct op_format *f, struct op_collect **ret);

#endif
