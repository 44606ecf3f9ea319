/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last recordings, kept for `report` without a FILE: in XDG_STATE_HOME/otelprof, else in
 * ~/.local/state/otelprof, of the caller: under sudo of the user behind it. They are closed to
 * others.
 */
#ifndef OTELPROF_RECORDINGS_LAST_H
#define OTELPROF_RECORDINGS_LAST_H

#include <stdint.h>

/* Keep a copy of the file @fd, which is a recording of @bytes, and drop the oldest ones beyond ten
 * and beyond 200 MB. It is done as the caller; what fails is no failure of the recording. */
void last_keep(int fd, uint64_t bytes);
/* The path of the newest one, on the heap, or NULL after a message. */
char *last_find(void);

#endif
