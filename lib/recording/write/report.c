/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all forms of a report: the rows, nodes and path that are shown. */
#include "recording/write/report.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macros.h"

/* A child with this share of its caller's total has its caller's indentation. */
#define CHAIN_SHARE 0.95
size_t report_rows(const struct report *r)
{
	return OP_MIN(r->v->rows_large, r->limit);
}

static int compare_totals(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x > y ? -1 : x < y;
}

/* The smallest total among the @limit largest nodes, and how many nodes with that total
 * may be shown. */
static int64_t smallest_shown(const struct report *r, size_t limit, size_t *ret_equal)
{
	_cleanup_free_ int64_t *totals = NULL;
	const struct tree *t = &r->v->tree;
	int64_t least = (int64_t)((double)r->v->total * r->min_percent / 100);
	int64_t smallest;
	size_t i;

	*ret_equal = SIZE_MAX;
	totals = malloc(t->nodes.len * sizeof(*totals));
	if (!totals || t->nodes.len <= limit)
		return least;
	for (i = 0; i < t->nodes.len; i++)
		totals[i] = t->nodes.data[i].total;
	qsort(totals, t->nodes.len, sizeof(*totals), compare_totals);
	/* The root is the first of them, and is not shown. */
	smallest = totals[limit];
	if (smallest < least)
		return least;
	for (i = limit; i && totals[i - 1] == smallest; i--)
		;
	*ret_equal = limit + 1 - (i ? i : 1);
	return smallest;
}

static void indent_node(struct tree_node *nodes, struct tree_node *n, int64_t least)
{
	const struct tree_node *parent = &nodes[n->parent];
	const struct tree_node *first = &nodes[parent->child];
	bool alone = !first->next || nodes[first->next].total < least;

	n->continues = n->parent && alone &&
		       (double)n->total >= CHAIN_SHARE * (double)parent->total;
	n->indent = parent->indent + (n->parent && !n->continues);
}

void report_tree(const struct report *r, size_t limit, report_node_fn fn, void *data)
{
	struct tree_node *nodes = r->v->tree.nodes.data;
	size_t equal;
	int64_t least = smallest_shown(r, limit, &equal);
	uint32_t at = nodes[0].child;

	nodes[0].indent = 0;
	while (at) {
		/* Siblings are sorted by their totals. */
		if (nodes[at].total > 0 &&
		    (nodes[at].total > least || (nodes[at].total == least && equal))) {
			equal -= nodes[at].total == least;
			indent_node(nodes, &nodes[at], least);
			fn(data, &nodes[at]);
			if (nodes[at].child) {
				at = nodes[at].child;
				continue;
			}
		} else {
			at = nodes[at].parent;
		}
		while (at && !nodes[at].next)
			at = nodes[at].parent;
		at = at ? nodes[at].next : 0;
	}
}

const struct answer *report_answer(const struct report *r, struct answer *buf)
{
	const struct view_request *q = &r->v->request;

	if (q->by != VIEW_BY_FUNCTION || q->tree != VIEW_CALLS || !r->show_rows ||
	    answer_make(r->v, buf) < 0)
		return NULL;
	return buf;
}

double report_duration(const struct report *r)
{
	return (double)(r->v->c->end_ns - r->v->c->start_ns) / 1e9;
}
