/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of calls in few lines: calls that keep their time are joined to a chain. */
#ifndef OP_RECORDING_TREE_CHAINS_H
#define OP_RECORDING_TREE_CHAINS_H

#include <stddef.h>
#include <stdint.h>

#include "recording/tree/view.h"

enum {
	CHAINS_MAX = 64,
	CALLERS_MAX = 3,
};

/* From @first to @last, each node has nearly all of the time of its parent. */
struct chain {
	uint32_t first; /* nodes of the tree */
	uint32_t last;
	size_t nodes;
	unsigned int depth;
};

struct chains {
	struct chain of[CHAINS_MAX]; /* callers before what they call */
	size_t len;
	int64_t next; /* the largest chain that did not fit; 0: all are here */
};

/* Find the @limit largest chains with at least @least. */
void chains_make(const struct tree *t, size_t limit, int64_t least, struct chains *ret);

/* The direct callers of a function, for samples in the function itself. */
struct callers {
	struct {
		uint32_t label; /* as of a node of the tree */
		int64_t value;
	} of[CALLERS_MAX]; /* the largest first */
	size_t len;
	size_t known;
};

/* Find the callers of the first @len rows of @v, which are functions. Returns 0 or -ENOMEM. */
int callers_find(const struct view *v, size_t len, struct callers *ret);

#endif
