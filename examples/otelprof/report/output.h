/* SPDX-License-Identifier: Apache-2.0 */
/* A file that a command writes as a whole or not at all. */
#ifndef OTELPROF_REPORT_OUTPUT_H
#define OTELPROF_REPORT_OUTPUT_H

/* Writes all to @fd. Returns 0 or STATUS_FAILED, said. */
typedef int (*output_fn)(void *data, int fd);

/*
 * Let @fn write @path, "-" standard output. A file is written beside and renamed, so that one
 * that @fn also reads, or that was good, is never half gone. Returns 0 or STATUS_FAILED, said.
 */
int output_write(const char *path, output_fn fn, void *data);

#endif
