/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/tree/chains.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* A callee with this share of the first node's total continues a chain. */
#define CHAIN_SHARE 0.95

/* The next chain below a parent; siblings are sorted by their totals. */
struct candidate {
	uint32_t node;
	uint32_t parent; /* chain that it is below, by the order of taking */
	unsigned int depth;
};

struct taking {
	const struct tree_node *nodes;
	int64_t least;
	/* At most one for each chain that was taken, and the root's. */
	struct candidate candidates[CHAINS_MAX + 1];
	size_t candidates_len;
	uint32_t places[CHAINS_MAX]; /* by order of taking: index in the chains */
};

static void propose(struct taking *t, uint32_t node, uint32_t parent, unsigned int depth)
{
	if (node && t->nodes[node].total >= t->least && t->nodes[node].total > 0)
		t->candidates[t->candidates_len++] =
			(struct candidate){ node, parent, depth };
}

static size_t largest_of(const struct taking *t)
{
	size_t best = 0, i;

	for (i = 1; i < t->candidates_len; i++) {
		if (t->nodes[t->candidates[i].node].total >
		    t->nodes[t->candidates[best].node].total)
			best = i;
	}
	return best;
}

static struct chain chain_from(const struct tree_node *nodes, uint32_t node,
			       unsigned int depth)
{
	struct chain c = { .first = node, .last = node, .nodes = 1, .depth = depth };
	uint32_t at;

	for (at = nodes[node].child;
	     at && (double)nodes[at].total >= CHAIN_SHARE * (double)nodes[node].total;
	     at = nodes[at].child) {
		c.last = at;
		c.nodes++;
	}
	return c;
}

/* Put a chain behind those below the same parent, which are not smaller. */
static void insert(struct taking *t, struct chains *ret, const struct candidate *from)
{
	struct chain c = chain_from(t->nodes, from->node, from->depth);
	size_t at = ret->len, i;

	if (from->depth) {
		at = t->places[from->parent] + 1;
		while (at < ret->len && ret->of[at].depth >= from->depth)
			at++;
	}
	memmove(ret->of + at + 1, ret->of + at, (ret->len - at) * sizeof(ret->of[0]));
	for (i = 0; i < ret->len; i++)
		t->places[i] += t->places[i] >= at;
	ret->of[at] = c;
	t->places[ret->len++] = (uint32_t)at;
}

void chains_make(const struct tree *t, size_t limit, int64_t least, struct chains *ret)
{
	struct taking taking = { .nodes = t->nodes.data, .least = least };
	struct candidate from;
	size_t i;

	ret->len = 0;
	ret->next = 0;
	if (!t->nodes.len)
		return;
	propose(&taking, taking.nodes[0].child, 0, 0);
	while (taking.candidates_len && ret->len < limit && ret->len < CHAINS_MAX) {
		i = largest_of(&taking);
		from = taking.candidates[i];
		taking.candidates[i] = taking.candidates[--taking.candidates_len];
		insert(&taking, ret, &from);
		i = ret->len - 1;
		propose(&taking, taking.nodes[from.node].next, from.parent, from.depth);
		propose(&taking, taking.nodes[ret->of[taking.places[i]].last].child,
			(uint32_t)i, from.depth + 1);
	}
	if (taking.candidates_len)
		ret->next =
			taking.nodes[taking.candidates[largest_of(&taking)].node].total;
}

/* The next other function outwards from the innermost one, or the process's name. */
static uint32_t caller_in(const struct view *v, const struct op_collect_stack *s,
			  const struct op_collect_path *path)
{
	uint32_t leaf = path->data[path->len - 1];
	size_t i = path->len - 1;

	while (i && path->data[i - 1] == leaf)
		i--;
	return i ? path->data[i - 1]
		 : v->c->processes.data[s->process].name | VIEW_PROCESS;
}

int callers_find(const struct view *v, size_t len, struct callers *ret)
{
	struct op_collect_path path = { 0 };
	const struct op_collect_stack *s;
	struct sums sums = { 0 };
	const struct sum *sum;
	struct callers *c;
	size_t i;
	int r = 0;

	memset(ret, 0, len * sizeof(*ret));
	op_vec_foreach(s, &v->c->stacks) {
		if (!view_wants(v, s))
			continue;
		r = op_collect_path(v->c, s, &path);
		if (r)
			break;
		for (i = 0; path.len && i < len; i++) {
			if (v->rows.data[i].label == path.data[path.len - 1])
				break;
		}
		if (path.len && i < len)
			r = sums_add(&sums, (uint64_t)i << 32 | caller_in(v, s, &path),
				     s->value);
		if (r)
			break;
	}
	sums_sort(&sums);
	op_vec_foreach(sum, &sums.items) {
		c = &ret[sum->key >> 32];
		if (c->known++ >= CALLERS_MAX)
			continue;
		c->of[c->len].label = (uint32_t)sum->key;
		c->of[c->len++].value = sum->value;
	}
	sums_clear(&sums);
	free(path.data);
	return r;
}
