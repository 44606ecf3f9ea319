/* SPDX-License-Identifier: Apache-2.0 */
/* Where on this machine a file of a recording is. */
#ifndef OTELPROF_LINES_FILES_H
#define OTELPROF_LINES_FILES_H

#include "format/collect.h"

/*
 * The path of the file of @mapping, or of its debug file: of the same build id. Looked for in
 * @directory (may be NULL), where the executables of @c were, and where libraries are. Caller
 * frees *@ret with free(). Returns 0, -ENOENT or -ENOMEM.
 */
int file_find(const struct op_collect *c, uint32_t mapping, const char *directory,
	      char **ret);

#endif
