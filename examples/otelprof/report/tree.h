/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of calls: stacks that begin alike share their nodes. */
#ifndef OTELPROF_REPORT_TREE_H
#define OTELPROF_REPORT_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

/* Node 0 is the root of all; a link of 0 is none. */
struct tree_node {
	uint32_t label; /* the caller's number of what is called here */
	uint32_t parent;
	uint32_t child;	 /* the first; most first after tree_sort() */
	uint32_t next;	 /* the next child of the same parent */
	uint32_t indent; /* the printer's */
	int64_t total;
	int64_t self;
};

struct tree {
	OP_VEC(struct tree_node) nodes;
	struct op_index index;
};

/* Add a stack, outermost label first. Returns 0 or -ENOMEM. */
int tree_add(struct tree *t, const uint32_t *labels, size_t len, int64_t value);
/* Put the children of every node into order: the most first, equal ones by label. */
int tree_sort(struct tree *t);
void tree_clear(struct tree *t);

#endif
