/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is slow: a file system in user space (FUSE) answers one read and one fsync(2)
 * after the other, each after a pause, and writes at once. */
#ifndef TEST_SLOW_H
#define TEST_SLOW_H

#include <stddef.h>
#include <stdint.h>

/* Make the file, of @bytes, all zero; each of its pages is to be read once,
 * for what was read is in memory and not slow any more. Its descriptor,
 * or a negative errno. The one who answers is a process, which ends with this one. */
int slow_open(size_t bytes, int64_t pause_ns);

#endif
