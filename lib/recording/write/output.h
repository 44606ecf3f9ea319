/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a file of a command completely or not at all. */
#ifndef OP_RECORDING_WRITE_OUTPUT_H
#define OP_RECORDING_WRITE_OUTPUT_H

/* Writes everything to @fd. Returns 0, or STATUS_FAILED after a message. */
typedef int (*output_fn)(void *data, int fd);

/*
 * Let @fn write the file @path; "-" is standard output. A file is written under a
 * temporary name and renamed, so that an existing file, which @fn may also read, is never
 * half overwritten; the target of a link is replaced, and the link stays. Pipes and
 * devices are written into. Returns 0, or STATUS_FAILED after a message.
 */
int output_write(const char *path, output_fn fn, void *data);

#endif
