/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings: files of ExportProfilesServiceRequest messages, each after its length as 4
 * bytes, big endian (`otelprof record -o FILE.otlp`), or one message as `otelprof sink
 * --dir` writes it.
 */
#ifndef OTELPROF_REPORT_RECORDING_H
#define OTELPROF_REPORT_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/collect.h"

/* Called with one request, which is valid during the call. A negative errno ends the
 * reading and is told as a fault of the file. */
typedef int (*recording_fn)(void *data, const void *request, size_t len);

/*
 * Call @fn for each request of the file at @path ("-": standard input). What follows a
 * damaged place is left out with a sentence on stderr; what came before it counts. Returns
 * 0, or STATUS_FAILED, said, where there was no request that could be read.
 */
int recording_read(const char *path, recording_fn fn, void *data);

/* Where the source lines of native code come from. */
struct recording_lines {
	bool wanted;
	bool told;	       /* say on stderr what was found */
	const char *directory; /* more files; NULL: none */
};

/* All requests of @paths in one collection. Caller frees *@ret with op_collect_free().
 * @lines may be NULL. Returns 0 or STATUS_FAILED, said. */
int recording_collect(char *const *paths, size_t len, enum op_collect_detail detail,
		      const struct recording_lines *lines, struct op_collect **ret);

#endif
