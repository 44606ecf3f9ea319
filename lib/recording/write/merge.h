/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one recording of several. */
#ifndef OP_RECORDING_WRITE_MERGE_H
#define OP_RECORDING_WRITE_MERGE_H

#include <stddef.h>

#include "recording/requests/filter.h"

/* Write the part of @files' requests that passes @filter (NULL: all), joined, to the
 * file @path, which is open as @fd. Returns 0, or STATUS_FAILED after a message. */
int merge_write(const struct filter *filter, char *const *files, size_t len,
		const char *path, int fd);

#endif
