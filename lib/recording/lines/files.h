/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a recording's files on this machine. */
#ifndef OP_RECORDING_LINES_FILES_H
#define OP_RECORDING_LINES_FILES_H

#include "export/format/collect/collect.h"
#include "process/target/task/task.h"

/*
 * Find the file of @mapping or its debug file, with the same build id: in @directory
 * (may be NULL), at the paths of the executables of @c, and in the directories of
 * libraries. @tasks opens them. The caller frees *@ret_path with free() and closes
 * *@ret_fd. Returns 0, -ENOENT or -ENOMEM.
 */
int file_find(const struct op_collect *c, uint32_t mapping, const char *directory,
	      struct op_tasks *tasks, char **ret_path, int *ret_fd);

#endif
