/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools of `otelprof mcp`. Each runs this program again with its own arguments. So an
 * assistant gets the same output as a person, and a failure of one call ends only that
 * call. Nothing on this host is changed, except for a directory of recordings, which is
 * removed at the end.
 */
#ifndef OTELPROF_MCP_TOOLS_H
#define OTELPROF_MCP_TOOLS_H

#include <json-c/json.h>
#include <stdbool.h>

#include "base/strbuf.h"

struct tools {
	char *program;	 /* path of this program */
	char *directory; /* for recordings; NULL before the first one */
	unsigned int recordings;
};

/* Returns 0, or STATUS_FAILED after a message. */
int tools_init(struct tools *t);
/* Removes the recordings. */
void tools_deinit(struct tools *t);

/* The answer to tools/list: an array, owned by the caller. NULL without memory. */
struct json_object *tools_list(void);
bool tools_know(const char *name);
/* Call a tool. @arguments may be NULL. @ret gets its text, or a sentence with what went
 * wrong. Returns true on success. */
bool tools_call(struct tools *t, const char *name, struct json_object *arguments,
		struct op_strbuf *ret);

/* Runs a program and keeps its output. */

/*
 * Run @argv for at most @seconds. Its output is added to @ret, cut at a limit with a
 * sentence; after a failure its standard error is added, too. Returns true if it exited
 * with 0.
 */
bool run_program(char **argv, double seconds, struct op_strbuf *ret);

#endif
