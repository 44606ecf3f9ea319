/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one recording of several. */
#ifndef OP_RECORDING_MERGE_MERGE_H
#define OP_RECORDING_MERGE_MERGE_H

#include <stddef.h>

/* Write the requests of @files, joined, to the file @path, which is open as @fd. Returns 0, or
 * STATUS_FAILED after a message. */
int merge_write(char *const *files, size_t len, const char *path, int fd);

#endif
