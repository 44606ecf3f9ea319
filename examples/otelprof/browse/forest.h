/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of calls whose nodes open and close, and the lines that show them. */
#ifndef OTELPROF_BROWSE_FOREST_H
#define OTELPROF_BROWSE_FOREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/tree/view.h"

/* A tree; labels are those of a view. */
struct grove {
	struct tree tree;
	bool *open; /* by node */
};

/* A line of the screen. */
struct branch {
	struct grove *of;
	uint32_t node; /* 0: a heading */
	uint32_t depth;
};

struct forest {
	OP_VEC(struct branch) shown;
};

/* Frames that are left out: those of runtimes. NULL: none. */
struct leave_out {
	const uint8_t *classes; /* by function */
	bool runtime;
};

bool leaves_out(const struct leave_out *out, uint32_t function);

/* The tree of everything that the view shows. Returns 0 or -ENOMEM. grove_clear() must
 * follow. */
int grove_of_calls(const struct view *v, const struct leave_out *out, struct grove *ret);
/* The trees of the callers and of the callees of the functions of the name @name, a string. */
int grove_around(const struct view *v, uint32_t name, const struct leave_out *out,
		 struct grove *ret_callers, struct grove *ret_callees);
void grove_clear(struct grove *g);

/* Open @node, and below it the nodes that keep nearly all of its time. */
void grove_open(struct grove *g, uint32_t node);
/* Open @node, and below it always the largest callee while it has half of its caller's
 * time. */
void grove_open_hottest(struct grove *g, uint32_t node);

/* Append the lines of a tree, with a heading if @heading. Nodes with less than @least
 * are left out. Returns 0 or -ENOMEM. */
int forest_add(struct forest *f, struct grove *g, bool heading, int64_t least);
/* The line of the caller of the one at @at, or @at. */
size_t forest_parent(const struct forest *f, size_t at);

#endif
