/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The debuginfod servers of DEBUGINFOD_URLS. Libdw queries them itself, file by file,
 * and does not report one that does not answer. Such a server costs its time limit
 * for each file. So
 * they are tried once, and where none answers libdw does not get to know them.
 */
#ifndef OP_RECORDING_LINES_DEBUGINFOD_H
#define OP_RECORDING_LINES_DEBUGINFOD_H

#include <stdbool.h>

struct debuginfod {
	bool tried;
	bool limited; /* by the user */
};

void debuginfod_init(struct debuginfod *s);
/* Try them with the build id of a file whose debug info may be theirs; only the first call
 * does. Says on stderr if they are left out. */
void debuginfod_try(struct debuginfod *s, const char *build_id);
/* From now on a download may take so many seconds, unless the user has set a limit. */
void debuginfod_limit(const struct debuginfod *s, double seconds);

#endif
