/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last recordings, kept for `report` without a FILE: in XDG_STATE_HOME/otelprof, else
 * in ~/.local/state/otelprof of the caller, or under sudo of the user who called sudo.
 * Others cannot read them.
 */
#ifndef OTELPROF_RECORDINGS_LAST_H
#define OTELPROF_RECORDINGS_LAST_H

#include <stdint.h>

/* Keep a copy of the file @fd, a recording of @bytes, and drop the oldest past ten
 * recordings and past 200 MB. Done with the caller's rights. A failure does not fail the
 * recording. */
void last_keep(int fd, uint64_t bytes);
/* The path of the newest recording, on the heap, or NULL after a message. */
char *last_find(void);

#endif
