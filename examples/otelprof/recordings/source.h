/* SPDX-License-Identifier: Apache-2.0 */
/* report --source: a source file with the time of its lines. */
#ifndef OTELPROF_RECORDINGS_SOURCE_H
#define OTELPROF_RECORDINGS_SOURCE_H

#include "recording/tree/view.h"

/* Print the source of @named, a file or a function. NULL: the file with the hottest line
 * of own code. Returns 0, or STATUS_FAILED after a message. */
int source_show(const struct view *v, const char *named, double min_percent);

#endif
