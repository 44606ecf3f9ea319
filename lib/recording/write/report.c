/* SPDX-License-Identifier: Apache-2.0 */
/* What all forms of a report share: which rows, nodes and path are shown. */
#include "recording/write/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"

/* A child with this share of its caller's total is printed at its
 * caller's indentation. */
#define CHAIN_SHARE 0.95
/* The hottest path continues while a callee has these shares of its caller and of the
 * whole. */
#define CALLEE_SHARE 0.5
#define WHOLE_SHARE  0.2
enum {
	DEPTH_MAX = 128 /* length of the hottest path before it is shortened */
};

size_t report_rows(const struct report *r)
{
	return OP_MIN(r->v->rows_large, r->limit);
}

static int compare_totals(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x > y ? -1 : x < y;
}

/* The smallest total among the @limit largest nodes, and how many of those that have it may be
 * shown. */
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

/* What comes before main() or a thread's function, on every stack. */
static bool is_start(const struct view *v, uint32_t function)
{
	static const char *const names[] = {
		"_start",
		"__libc_start_main",
		"__libc_start_call_main",
		"start_thread",
		"__clone3",
		"clone3",
		"__clone",
		"clone",
	};
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(names); i++)
		if (view_text_is(v->c, v->c->functions.data[function].name, names[i]))
			return true;
	return false;
}

static const struct view_row *row_of(const struct view *v, uint32_t function)
{
	const struct view_row *row;

	op_vec_foreach(row, &v->rows) {
		if (row->label == function)
			return row;
	}
	return NULL;
}

struct path {
	const struct view_row *rows[DEPTH_MAX];
	size_t len;
};

static bool is_on(const struct path *p, const struct view_row *row)
{
	size_t i;

	for (i = 0; i < p->len; i++) {
		if (p->rows[i] == row)
			return true;
	}
	return false;
}

static void walk_path(const struct report *r, bool with_source, struct path *ret)
{
	const struct tree_node *nodes = r->v->tree.nodes.data;
	const struct op_collect_function *fn;
	const struct view_row *row;
	uint32_t at;

	for (at = nodes[0].child; at && ret->len < DEPTH_MAX; at = nodes[at].child) {
		if ((double)nodes[at].total <
			    CALLEE_SHARE * (double)nodes[nodes[at].parent].total ||
		    (double)nodes[at].total < WHOLE_SHARE * (double)r->v->total)
			break;
		if (nodes[at].label & VIEW_PROCESS || is_start(r->v, nodes[at].label))
			continue;
		fn = &r->v->c->functions.data[nodes[at].label];
		row = !with_source || fn->file ? row_of(r->v, nodes[at].label) : NULL;
		if (row && !is_on(ret, row))
			ret->rows[ret->len++] = row;
	}
}

/* Is all of it in the C library, whose debug info may be the only one on a machine? */
static bool is_of_libc(const struct view *v, const struct path *p)
{
	char module[64];
	size_t i;

	for (i = 0; i < p->len; i++) {
		view_module(v, p->rows[i]->label, module, sizeof(module));
		if (strncmp(module, "libc.so", 7) != 0 &&
		    strncmp(module, "libc-", 5) != 0)
			return false;
	}
	return true;
}

/* Remove the frame that says least: the one whose callee has nearly all of its time. */
static void shorten(struct path *p)
{
	int64_t least = INT64_MAX, lost;
	size_t i, at = 0;

	for (i = 0; i + 1 < p->len; i++) {
		lost = p->rows[i]->total - p->rows[i + 1]->total;
		lost = lost < 0 ? -lost : lost;
		if (lost < least) {
			least = lost;
			at = i;
		}
	}
	for (i = at + 1; i < p->len; i++)
		p->rows[i - 1] = p->rows[i];
	p->len--;
}

size_t report_path(const struct report *r, const struct view_row *ret[REPORT_PATH_MAX])
{
	struct path p = { .len = 0 };
	size_t i;

	if (r->v->request.by != VIEW_BY_FUNCTION || r->v->request.tree != VIEW_CALLS)
		return 0;
	walk_path(r, true, &p);
	if (is_of_libc(r->v, &p)) {
		p.len = 0;
		walk_path(r, false, &p);
	}
	while (p.len > REPORT_PATH_MAX)
		shorten(&p);
	for (i = 0; i < p.len; i++)
		ret[i] = p.rows[i];
	return p.len;
}

double report_duration(const struct report *r)
{
	return (double)(r->v->c->end_ns - r->v->c->start_ns) / 1e9;
}
