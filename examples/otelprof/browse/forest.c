/* SPDX-License-Identifier: Apache-2.0 */
#include "browse/forest.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "recording/tree/answer/answer.h"

/* A callee with this share of its caller opens with it, and is not indented further. */
#define CHAIN_SHARE 0.95
#define HALF	    0.5

static bool is_out(const struct leave_out *out, uint32_t function)
{
	return out->runtime && out->classes[function] == OP_CLASS_RUNTIME;
}

/* A stack's labels, outermost first, in an array that grows. */
struct labels {
	OP_VEC(uint32_t) of;
	struct op_collect_path path;
};

static int push(struct labels *l, uint32_t label)
{
	uint32_t *at = op_vec_push(&l->of);

	if (!at)
		return -ENOMEM;
	*at = label;
	return 0;
}

static void labels_clear(struct labels *l)
{
	op_vec_clear(&l->of);
	free(l->path.data);
}

static int finish(struct grove *g)
{
	g->open = calloc(g->tree.nodes.len + 1, sizeof(*g->open));
	return g->open ? tree_sort(&g->tree) : -ENOMEM;
}

static int add_calls(const struct view *v, const struct op_collect_stack *s,
		     const struct leave_out *out, struct labels *l, struct grove *g)
{
	size_t i;
	int r;

	l->of.len = 0;
	r = push(l, v->c->processes.data[s->process].name | VIEW_PROCESS);
	for (i = 0; !r && i < l->path.len; i++)
		if (!is_out(out, l->path.data[i]))
			r = push(l, l->path.data[i]);
	return r ? r : tree_add(&g->tree, l->of.data, l->of.len, s->value, NULL);
}

int grove_of_calls(const struct view *v, const struct leave_out *out, struct grove *ret)
{
	const struct op_collect_stack *s;
	struct labels l = { .of = { 0 } };
	int r = 0;

	op_vec_foreach(s, &v->c->stacks) {
		if (r || !view_wants(v, s))
			continue;
		r = op_collect_path(v->c, s, &l.path);
		if (!r)
			r = add_calls(v, s, out, &l, ret);
	}
	labels_clear(&l);
	return r ? r : finish(ret);
}

/* From the outermost one of that name inwards. */
static int add_callees(const struct view *v, uint32_t name,
		       const struct op_collect_stack *s, const struct leave_out *out,
		       struct labels *l, struct grove *g)
{
	const struct op_collect_function *f = v->c->functions.data;
	size_t i = 0;
	int r = 0;

	while (i < l->path.len && f[l->path.data[i]].name != name)
		i++;
	l->of.len = 0;
	for (; !r && i < l->path.len; i++)
		if (!l->of.len || !is_out(out, l->path.data[i]))
			r = push(l, l->path.data[i]);
	return r || !l->of.len
		       ? r
		       : tree_add(&g->tree, l->of.data, l->of.len, s->value, NULL);
}

/* From the innermost one outwards, to the program. */
static int add_callers(const struct view *v, uint32_t name,
		       const struct op_collect_stack *s, const struct leave_out *out,
		       struct labels *l, struct grove *g)
{
	const struct op_collect_function *f = v->c->functions.data;
	size_t i = l->path.len;
	int r = 0;

	while (i && f[l->path.data[i - 1]].name != name)
		i--;
	l->of.len = 0;
	for (; !r && i; i--)
		if (!l->of.len || !is_out(out, l->path.data[i - 1]))
			r = push(l, l->path.data[i - 1]);
	if (r || !l->of.len)
		return r;
	r = push(l, v->c->processes.data[s->process].name | VIEW_PROCESS);
	return r ? r : tree_add(&g->tree, l->of.data, l->of.len, s->value, NULL);
}

int grove_around(const struct view *v, uint32_t name, const struct leave_out *out,
		 struct grove *ret_callers, struct grove *ret_callees)
{
	const struct op_collect_stack *s;
	struct labels l = { .of = { 0 } };
	int r = 0;

	op_vec_foreach(s, &v->c->stacks) {
		if (r || !view_wants(v, s))
			continue;
		r = op_collect_path(v->c, s, &l.path);
		if (!r)
			r = add_callers(v, name, s, out, &l, ret_callers);
		if (!r)
			r = add_callees(v, name, s, out, &l, ret_callees);
	}
	labels_clear(&l);
	if (!r)
		r = finish(ret_callers);
	return r ? r : finish(ret_callees);
}

void grove_clear(struct grove *g)
{
	tree_clear(&g->tree);
	free(g->open);
	g->open = NULL;
}

static bool keeps(const struct grove *g, uint32_t caller, uint32_t callee, double share)
{
	const struct tree_node *n = g->tree.nodes.data;

	return (double)n[callee].total >= share * (double)n[caller].total;
}

static void open_while(struct grove *g, uint32_t node, double share)
{
	const struct tree_node *n = g->tree.nodes.data;

	g->open[node] = true;
	while (n[node].child && keeps(g, node, n[node].child, share)) {
		node = n[node].child;
		g->open[node] = true;
	}
}

void grove_open(struct grove *g, uint32_t node)
{
	open_while(g, node, CHAIN_SHARE);
}

void grove_open_hottest(struct grove *g, uint32_t node)
{
	open_while(g, node, HALF);
}

static int add_branch(struct forest *f, struct grove *g, uint32_t node, uint32_t depth)
{
	struct branch *b = op_vec_push(&f->shown);

	if (!b)
		return -ENOMEM;
	*b = (struct branch){ g, node, depth };
	return 0;
}

/* The depth of a callee that its caller's line is at. */
static uint32_t depth_below(const struct grove *g, uint32_t caller, uint32_t callee,
			    uint32_t depth)
{
	return caller && keeps(g, caller, callee, CHAIN_SHARE) ? depth : depth + 1;
}

int forest_add(struct forest *f, struct grove *g, bool heading, int64_t least)
{
	struct tree_node *n = g->tree.nodes.data;
	uint32_t at;
	int r = heading ? add_branch(f, g, 0, 0) : 0;

	if (!g->tree.nodes.len)
		return r;
	at = n[0].child;
	while (!r && at) {
		uint32_t caller = n[at].parent;

		/* Those behind it have less. */
		if (n[at].total > 0 && n[at].total >= least) {
			n[at].indent =
				caller ? depth_below(g, caller, at, n[caller].indent) : 0;
			r = add_branch(f, g, at, n[at].indent);
			if (g->open[at] && n[at].child) {
				at = n[at].child;
				continue;
			}
		} else {
			at = caller;
		}
		while (at && !n[at].next)
			at = n[at].parent;
		at = at ? n[at].next : 0;
	}
	return r;
}

size_t forest_parent(const struct forest *f, size_t at)
{
	const struct branch *b = &f->shown.data[at];
	uint32_t parent = b->node ? b->of->tree.nodes.data[b->node].parent : 0;
	size_t i;

	for (i = at; parent && i > 0; i--)
		if (f->shown.data[i - 1].of == b->of &&
		    f->shown.data[i - 1].node == parent)
			return i - 1;
	return at;
}
