/* SPDX-License-Identifier: Apache-2.0 */
/* Formats a file exporter can write: the whole of what was collected of its requests. */
#ifndef OP_FORMAT_FORMAT_H
#define OP_FORMAT_FORMAT_H

#include <stdint.h>

#include "format/collect.h"

struct op_format {
	uint32_t format; /* OTELPROF_FORMAT_* */
	enum op_collect_detail detail;
	/* Write everything added so far to @fd, from its start. May be called again later. */
	int (*write)(const struct op_collect *c, int fd);
};

/* The format with that number, or NULL (also for OTELPROF_FORMAT_OTLP: plain framing). */
const struct op_format *op_format_get(uint32_t format);

#endif
