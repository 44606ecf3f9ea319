/* SPDX-License-Identifier: Apache-2.0 */
/* The Firefox profiler's JSON, "processed profile" of version 57. */
#ifndef OP_RECORDING_WRITE_FIREFOX_H
#define OP_RECORDING_WRITE_FIREFOX_H

#include "recording/write/timeline.h"

/* Write @t, which must be sorted, to @fd. Returns 0 or a negative errno. */
int firefox_write(const struct timeline *t, int fd);

#endif
