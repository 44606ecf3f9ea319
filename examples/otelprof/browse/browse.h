/* SPDX-License-Identifier: Apache-2.0 */
/* A recording on a whole screen: the answer, the tree of calls, functions, callers and callees of one, and
 * source. */
#ifndef OTELPROF_BROWSE_H
#define OTELPROF_BROWSE_H

#include "recording/tree/view.h"

/* Show what @request chooses of @c until a key or a signal ends it. @title: of the recording. Returns 0;
 * STATUS_FAILED after a message; or, before anything is shown, -ENOTSUP if the terminal cannot do it or the
 * program was built without curses. */
int browse(const struct op_collect *c, const struct view_request *request,
	   const char *title);

#endif
