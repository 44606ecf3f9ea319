/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hottest path: from the program inwards to the callee that most of each caller's time is in.
 * It is of the program's own code where that is most of the stacks, so that what interprets a
 * language does not part stacks that are one for their reader.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "recording/tree/answer/answer.h"

/* It continues while a callee has these shares of its caller and of the whole. */
#define CALLEE_SHARE 0.5
#define WHOLE_SHARE  0.15
enum {
	DEPTH_MAX = 256, /* before it is shortened */
};

struct path {
	const struct answer_work *w;
	bool all; /* of all frames, not of own code */
	struct tree tree;
	OP_VEC(uint32_t) ends;	 /* of each stack: the node of its leaf */
	OP_VEC(uint32_t) labels; /* of the stack at hand, outermost first */
	OP_VEC(uint32_t) lines;	 /* the same */
	uint16_t *steps;	 /* by node: the number of a step, from 1; 0: none */
	struct sums hits;	 /* by step and line */
	struct answer_step of[DEPTH_MAX];
	size_t len;
};

static bool is_kept(const struct path *p, uint32_t function)
{
	enum frame_class of = p->w->classes[function];

	return p->all ? of != CLASS_NONE : frame_class_is_own(of);
}

static int push(struct path *p, uint32_t label, uint32_t line)
{
	uint32_t *e;

	/* Recursion is one step, with the innermost line. */
	if (p->labels.len && p->labels.data[p->labels.len - 1] == label) {
		p->lines.data[p->lines.len - 1] = line;
		return 0;
	}
	e = op_vec_push(&p->labels);
	if (!e)
		return -ENOMEM;
	*e = label;
	e = op_vec_push(&p->lines);
	if (!e)
		return -ENOMEM;
	*e = line;
	return 0;
}

/* The kept frames of a stack. */
static int take_stack(struct path *p, const struct op_collect_stack *s)
{
	const struct op_collect *c = p->w->v->c;
	const struct op_collect_location *l;
	const struct op_collect_line *line;
	uint32_t i, j;
	int r;

	p->labels.len = p->lines.len = 0;
	r = push(p, c->processes.data[s->process].name | VIEW_PROCESS, 0);
	for (i = s->locations_len; !r && i; i--) {
		l = &c->locations.data[c->location_numbers.data[s->locations + i - 1]];
		for (j = l->lines_len; !r && j; j--) {
			line = &c->lines.data[l->lines + j - 1];
			if (is_kept(p, line->function))
				r = push(p, line->function, line->line);
		}
	}
	return r;
}

static int add_all(struct path *p)
{
	const struct view *v = p->w->v;
	const struct op_collect_stack *s;
	uint32_t *end, node = 0;
	int r;

	op_vec_foreach(s, &v->c->stacks) {
		if (!view_wants(v, s))
			continue;
		r = take_stack(p, s);
		if (!r)
			r = tree_add(&p->tree, p->labels.data, p->labels.len, s->value,
				     &node);
		end = r ? NULL : op_vec_push(&p->ends);
		if (!end)
			return -ENOMEM;
		*end = node;
	}
	return tree_sort(&p->tree);
}

static int walk(struct path *p)
{
	const struct tree_node *nodes = p->tree.nodes.data;
	uint32_t at;

	p->steps = calloc(p->tree.nodes.len + 1, sizeof(*p->steps));
	if (!p->steps || !nodes)
		return p->steps ? 0 : -ENOMEM;
	for (at = nodes[0].child; at && p->len < DEPTH_MAX; at = nodes[at].child) {
		if ((double)nodes[at].total <
			    CALLEE_SHARE * (double)nodes[nodes[at].parent].total ||
		    (double)nodes[at].total < WHOLE_SHARE * (double)nodes[0].total)
			break;
		p->of[p->len++] = (struct answer_step){ .label = nodes[at].label,
							.value = nodes[at].total };
		p->steps[at] = (uint16_t)p->len;
	}
	return 0;
}

/* Count the lines of the steps, of the stacks that pass them. */
static int count_lines(struct path *p)
{
	const struct view *v = p->w->v;
	const struct op_collect_stack *s;
	const struct sum *sum;
	size_t stack = 0, depth;
	int64_t most[DEPTH_MAX] = { 0 };
	uint32_t at, step;
	int r;

	op_vec_foreach(s, &v->c->stacks) {
		if (!view_wants(v, s))
			continue;
		r = take_stack(p, s);
		at = p->ends.data[stack++];
		for (depth = p->labels.len; !r && at; at = p->tree.nodes.data[at].parent)
			if (depth-- && p->steps[at])
				r = sums_add(&p->hits,
					     (uint64_t)p->steps[at] << 32 |
						     p->lines.data[depth],
					     s->value);
		if (r)
			return r;
	}
	op_vec_foreach(sum, &p->hits.items) {
		step = (uint32_t)(sum->key >> 32) - 1;
		if (!(uint32_t)sum->key || sum->value <= most[step])
			continue;
		most[step] = sum->value;
		p->of[step].line = (uint32_t)sum->key;
	}
	return 0;
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
		"ret_from_fork",
		"kthread",
		"ret_from_fork_asm",
		"__libc_start_main_impl",
	};
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(names); i++)
		if (view_text_is(v->c, v->c->functions.data[function].name, names[i]))
			return true;
	return false;
}

static void drop_starts(struct path *p)
{
	size_t i, n = 0;

	for (i = 0; i < p->len; i++) {
		bool program = p->of[i].label & VIEW_PROCESS;

		if (program || !is_start(p->w->v, p->of[i].label))
			p->of[n++] = p->of[i];
	}
	p->len = n;
}

/* Remove the step that says least: the one whose callee has nearly all of its value. The program
 * and the innermost step stay. */
static void shorten(struct path *p)
{
	int64_t least = INT64_MAX, lost;
	size_t i, at = 1;

	for (i = 1; i + 1 < p->len; i++) {
		lost = p->of[i].value - p->of[i + 1].value;
		if (lost < least) {
			least = lost;
			at = i;
		}
	}
	memmove(&p->of[at], &p->of[at + 1], (p->len - at - 1) * sizeof(p->of[0]));
	p->len--;
}

static void path_clear(struct path *p)
{
	tree_clear(&p->tree);
	op_vec_clear(&p->ends);
	op_vec_clear(&p->labels);
	op_vec_clear(&p->lines);
	sums_clear(&p->hits);
	free(p->steps);
}

int answer_path(struct answer_work *w)
{
	struct path p = { .w = w, .all = w->a->own < w->v->total / 2 };
	int r = add_all(&p);

	if (!r)
		r = walk(&p);
	if (!r)
		r = count_lines(&p);
	if (!r) {
		drop_starts(&p);
		while (p.len > ANSWER_PATH_MAX)
			shorten(&p);
		memcpy(w->a->path, p.of, p.len * sizeof(p.of[0]));
		w->a->path_len = p.len;
	}
	path_clear(&p);
	return r;
}
