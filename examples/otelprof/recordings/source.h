/* SPDX-License-Identifier: Apache-2.0 */
/* report --source: a source file with the time of its lines. */
#ifndef OTELPROF_RECORDINGS_SOURCE_H
#define OTELPROF_RECORDINGS_SOURCE_H

#include "recording/tree/view.h"

/* Is @arg, which follows --source, what that is to show, and not a recording? */
bool source_is_named(const char *arg);

/* Print the source of @named, a file or a function; NULL: the file with the hottest line of own code.
 * Returns 0, or STATUS_FAILED after a message. */
int source_show(const struct view *v, const char *named, double min_percent);

#endif
