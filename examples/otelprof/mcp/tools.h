/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools of `otelprof mcp`. Each runs this program again with arguments of its own, so that
 * an assistant sees what a person sees, and a fault of one call ends that call alone. Nothing
 * is changed on this host but a directory for recordings, which goes away at the end.
 */
#ifndef OTELPROF_MCP_TOOLS_H
#define OTELPROF_MCP_TOOLS_H

#include <json-c/json.h>
#include <stdbool.h>

#include "base/strbuf.h"

struct tools {
	char *program;	 /* path of this program */
	char *directory; /* for recordings; NULL before the first */
	unsigned int recordings;
};

/* Returns 0 or STATUS_FAILED, said. */
int tools_init(struct tools *t);
/* Remove the recordings. */
void tools_deinit(struct tools *t);

/* What tools/list answers: an array, the caller's. NULL without memory. */
struct json_object *tools_list(void);
bool tools_know(const char *name);
/*
 * Call a tool. @arguments may be NULL. Its text, or the sentence of what went wrong, goes to
 * @ret. Returns true where it worked.
 */
bool tools_call(struct tools *t, const char *name, struct json_object *arguments,
		struct op_strbuf *ret);

#endif
