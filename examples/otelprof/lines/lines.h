/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines and inlined functions of native code, from the debug info that this machine
 * has: in the files themselves, in /usr/lib/debug, or of debuginfod servers where
 * DEBUGINFOD_URLS names some. Files are told apart by build id, so one that has been replaced
 * since is not taken.
 */
#ifndef OTELPROF_LINES_LINES_H
#define OTELPROF_LINES_LINES_H

#include <stddef.h>

#include "format/collect.h"

struct lines_stats {
	size_t locations;     /* native ones without a line */
	size_t found;	      /* of them, those that have one now */
	size_t files;	      /* of which there are such locations */
	size_t files_without; /* of them, those whose debug info is not here */
};

/*
 * Give the locations of @c their lines. @directory: more files, by name or by build id, or NULL.
 * Nothing may be added to @c afterwards. Returns 0 or -ENOMEM; what cannot be read is left as it
 * is.
 */
int lines_add(struct op_collect *c, const char *directory, struct lines_stats *ret);

#endif
