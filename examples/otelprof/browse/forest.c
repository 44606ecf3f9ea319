/* SPDX-License-Identifier: Apache-2.0 */
#include "browse/forest.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "recording/tree/answer/answer.h"

/* A callee with this share of its caller opens with it, and is not indented further. */
#define CHAIN_SHARE 0.95
#define HALF	    0.5

bool leaves_out(const struct leave_out *out, uint32_t function)
{
	return out->runtime && out->classes[function] == OP_CLASS_RUNTIME;
}

/* The destination of stacks that are added. */
struct adding {
	const struct view *v;
	const struct leave_out *out;
	const uint32_t *name; /* a string: of callers and callees; NULL: of all calls */
	struct grove *down;
	struct grove *up; /* NULL: none */
	/* of the current stack */
	OP_VEC(uint32_t) labels;
	struct op_collect_path path;
};

static int push(struct adding *a, uint32_t label)
{
	uint32_t *at;

	if (a->labels.len && !(label & VIEW_PROCESS) && leaves_out(a->out, label))
		return 0;
	at = op_vec_push(&a->labels);
	if (!at)
		return -ENOMEM;
	*at = label;
	return 0;
}

static bool is_named(const struct adding *a, uint32_t function)
{
	return a->v->c->functions.data[function].name == *a->name;
}

/* Inwards: all frames below the program, or those from the outermost one of the name. */
static int add_down(struct adding *a, const struct op_collect_stack *s)
{
	size_t i = 0;
	int r = 0;

	a->labels.len = 0;
	if (!a->name)
		r = push(a, a->v->c->processes.data[s->process].name | VIEW_PROCESS);
	while (a->name && i < a->path.len && !is_named(a, a->path.data[i]))
		i++;
	for (; !r && i < a->path.len; i++)
		r = push(a, a->path.data[i]);
	return r || !a->labels.len ? r
				   : tree_add(&a->down->tree, a->labels.data,
					      a->labels.len, s->value, NULL);
}

/* From the innermost one of the name outwards, to the program. */
static int add_up(struct adding *a, const struct op_collect_stack *s)
{
	size_t i = a->path.len;
	int r = 0;

	a->labels.len = 0;
	while (i && !is_named(a, a->path.data[i - 1]))
		i--;
	for (; !r && i; i--)
		r = push(a, a->path.data[i - 1]);
	if (r || !a->labels.len)
		return r;
	r = push(a, a->v->c->processes.data[s->process].name | VIEW_PROCESS);
	return r ? r
		 : tree_add(&a->up->tree, a->labels.data, a->labels.len, s->value, NULL);
}

static int finish(struct grove *g)
{
	g->open = calloc(g->tree.nodes.len + 1, sizeof(*g->open));
	return g->open ? tree_sort(&g->tree) : -ENOMEM;
}

static int add_all(struct adding *a)
{
	const struct op_collect_stack *s;
	int r = 0;

	op_vec_foreach(s, &a->v->c->stacks) {
		if (r || !view_wants(a->v, s))
			continue;
		r = op_collect_path(a->v->c, s, &a->path);
		if (!r)
			r = add_down(a, s);
		if (!r && a->up)
			r = add_up(a, s);
	}
	op_vec_clear(&a->labels);
	free(a->path.data);
	if (!r)
		r = finish(a->down);
	return r || !a->up ? r : finish(a->up);
}

int grove_of_calls(const struct view *v, const struct leave_out *out, struct grove *ret)
{
	struct adding a = { .v = v, .out = out, .down = ret };

	return add_all(&a);
}

int grove_around(const struct view *v, uint32_t name, const struct leave_out *out,
		 struct grove *ret_callers, struct grove *ret_callees)
{
	struct adding a = {
		.v = v, .out = out, .name = &name, .down = ret_callees, .up = ret_callers
	};

	return add_all(&a);
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

/* The depth at which a callee is indented, from its caller's line. */
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

		/* All further ones have less. */
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
