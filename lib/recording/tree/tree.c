/* SPDX-License-Identifier: Apache-2.0 */
/* Builds and sorts a call tree whose nodes are in one array and refer to each other by
 * index. */
#include "recording/tree/tree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "export/format/collect/collect.h"

struct edge {
	uint32_t parent;
	uint32_t label;
};

static bool node_equal(const void *elements, uint32_t i, const void *key)
{
	const struct tree *t = elements;
	const struct edge *e = key;

	return t->nodes.data[i].parent == e->parent && t->nodes.data[i].label == e->label;
}

static int child_of(struct tree *t, uint32_t parent, uint32_t label, uint32_t *ret)
{
	struct edge e = { parent, label };
	uint32_t hash = (uint32_t)op_hash_u64(((uint64_t)parent << 32 | label) ^ t->seed);
	uint32_t i = op_index_find(&t->index, hash, t, &e, node_equal);
	struct tree_node *n;

	if (i != UINT32_MAX) {
		*ret = i;
		return 0;
	}
	n = op_vec_push(&t->nodes);
	if (!n)
		return -ENOMEM;
	i = (uint32_t)t->nodes.len - 1;
	*n = (struct tree_node){ .label = label,
				 .parent = parent,
				 .next = t->nodes.data[parent].child };
	t->nodes.data[parent].child = i;
	*ret = i;
	return op_index_add(&t->index, hash, i);
}

int tree_add(struct tree *t, const uint32_t *labels, size_t len, int64_t value,
	     uint32_t *ret)
{
	struct tree_node *root;
	uint32_t at = 0;
	size_t i;
	int r;

	if (!t->nodes.len) {
		root = op_vec_push(&t->nodes);
		if (!root)
			return -ENOMEM;
		t->seed = op_hash_seed();
		*root = (struct tree_node){ .label = UINT32_MAX, .parent = UINT32_MAX };
	}
	t->nodes.data[0].total = op_collect_sum(t->nodes.data[0].total, value);
	for (i = 0; i < len; i++) {
		r = child_of(t, at, labels[i], &at);
		if (r)
			return r;
		t->nodes.data[at].total = op_collect_sum(t->nodes.data[at].total, value);
	}
	t->nodes.data[at].self = op_collect_sum(t->nodes.data[at].self, value);
	if (ret)
		*ret = at;
	return 0;
}

static int compare_nodes(const void *a, const void *b, void *data)
{
	const struct tree_node *nodes = data;
	const struct tree_node *x = &nodes[*(const uint32_t *)a];
	const struct tree_node *y = &nodes[*(const uint32_t *)b];

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->label < y->label ? -1 : x->label > y->label;
}

/* Sort the callees of @caller. @order has space for them. */
static void sort_callees(struct tree *t, uint32_t caller, uint32_t *order)
{
	struct tree_node *nodes = t->nodes.data;
	uint32_t at = nodes[caller].child;
	size_t n = 0;

	/* Most nodes have one callee. */
	if (!at || !nodes[at].next)
		return;
	for (; at; at = nodes[at].next)
		order[n++] = at;
	qsort_r(order, n, sizeof(*order), compare_nodes, nodes);
	for (at = 0; n--; at = order[n])
		nodes[order[n]].next = at;
	nodes[caller].child = at;
}

int tree_sort(struct tree *t)
{
	_cleanup_free_ uint32_t *order = NULL;
	uint32_t i;

	if (!t->nodes.len)
		return 0;
	order = malloc(t->nodes.len * sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (i = 0; i < t->nodes.len; i++)
		sort_callees(t, i, order);
	return 0;
}

void tree_clear(struct tree *t)
{
	op_vec_clear(&t->nodes);
	op_index_clear(&t->index);
}
