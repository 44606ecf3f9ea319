/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the format of speedscope, which the Firefox profiler also reads. */
#ifndef OTELPROF_REPORT_SPEEDSCOPE_H
#define OTELPROF_REPORT_SPEEDSCOPE_H

#include "export/format/collect.h"

/* Write a profile for each kind and process, the largest first. Returns 0 or a negative
 * errno. */
int speedscope_write(const struct op_collect *c, int fd);

#endif
