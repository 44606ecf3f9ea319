/* SPDX-License-Identifier: Apache-2.0 */
/* A call tree: stacks with the same outermost frames share nodes. */
#ifndef OP_RECORDING_TREE_TREE_H
#define OP_RECORDING_TREE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

/* Node 0 is the root; a link of 0 means none. */
struct tree_node {
	uint32_t label; /* number of the function or label, chosen by the caller */
	uint32_t parent;
	uint32_t child; /* the first child, which is the largest after tree_sort() */
	uint32_t next;	/* the next child of the same parent */
	/* For code that prints the tree: */
	uint32_t indent;
	/* it continues the chain of its parent, at the same indentation */
	bool continues;
	int64_t total;
	int64_t self;
};

struct tree {
	OP_VEC(struct tree_node) nodes;
	struct op_index index;
	uint64_t seed; /* labels may be numbers of a recording */
};

/* Add a stack, outermost label first. @ret (may be NULL) is the node of the last label,
 * which has a larger number than its parent. Returns 0 or -ENOMEM. */
int tree_add(struct tree *t, const uint32_t *labels, size_t len, int64_t value,
	     uint32_t *ret);
/* Sort the children of every node: the largest first, equal ones by label. */
int tree_sort(struct tree *t);
void tree_clear(struct tree *t);

#endif
