/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The debuginfod servers of DEBUGINFOD_URLS. libdw queries them file by file, and does
 * not report one that does not answer. Such a server costs its time limit for each
 * file. So they are tried once, and if none answers, libdw gets none of them.
 */
#ifndef OP_RECORDING_LINES_DEBUGINFOD_H
#define OP_RECORDING_LINES_DEBUGINFOD_H

#include <stdbool.h>

struct debuginfod {
	bool tried;
	bool limited; /* by the user */
};

void debuginfod_init(struct debuginfod *s);
/* Try the servers once, with the build id of a file whose debug info they may have.
 * Later calls do nothing. Says on stderr if the servers are left out. */
void debuginfod_try(struct debuginfod *s, const char *build_id);
/* Limit later downloads to this many seconds, unless the user has set a limit. */
void debuginfod_limit(const struct debuginfod *s, double seconds);

#endif
