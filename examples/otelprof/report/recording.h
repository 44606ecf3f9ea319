/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads recordings: files of ExportProfilesServiceRequest messages, each preceded by its
 * length as 4 bytes, big endian (`otelprof record -o FILE.otlp`), or one message as
 * `otelprof sink --dir` writes it.
 */
#ifndef OTELPROF_REPORT_RECORDING_H
#define OTELPROF_REPORT_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/format/collect.h"
#include "lines/lines.h"

/* Called with one request, which is valid during the call. A negative errno ends the
 * reading and is reported as a fault of the file. */
typedef int (*recording_fn)(void *data, const void *request, size_t len);

/*
 * Call @fn for each request of the file @path ("-": standard input). What follows a
 * damaged place is skipped with a message on stderr; the requests before it count.
 * Returns 0, or STATUS_FAILED after a message if there was no request that could be read.
 */
/* What messages call it: @path, or "standard input" for "-". */
const char *recording_title(const char *path);

int recording_read(const char *path, recording_fn fn, void *data);

/* The sources of line numbers for native code. */
struct recording_lines {
	bool wanted;
	bool told;		      /* print on stderr what was found */
	struct lines_request request; /* seconds, memory: 0: the default */
};

/* Collect all requests of @paths. The caller frees *@ret with op_collect_free(). @lines
 * may be NULL. Returns 0, or STATUS_FAILED after a message. */
int recording_collect(char *const *paths, size_t len, enum op_collect_detail detail,
		      const struct recording_lines *lines, struct op_collect **ret);

#endif
