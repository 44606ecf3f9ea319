/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats a file exporter can write. A format takes encoded requests one after another,
 * keeps what it needs of them, and writes the whole at the end.
 */
#ifndef OP_EXPORT_FORMAT_H
#define OP_EXPORT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

struct op_format_ops {
	uint32_t format; /* OTELPROF_FORMAT_* */
	int (*open)(void **ret);
	/* Take one ExportProfilesServiceRequest; borrows @request during the call. */
	int (*add)(void *state, const void *request, size_t len);
	/* Write everything added so far to @fd, from its start. May be called again later. */
	int (*write)(void *state, int fd);
	void (*close)(void *state);
};

/* The format with that number, or NULL (also for OTELPROF_FORMAT_OTLP: plain framing). */
const struct op_format_ops *op_format_get(uint32_t format);

#endif
