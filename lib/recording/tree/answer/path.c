/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hottest path: from the program inwards, always to the callee with most of its
 * caller's time. If most stacks have the program's own code, the path has only that
 * code, so that frames of an interpreter do not split stacks that are the same to the
 * reader.
 */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "recording/tree/answer/answer.h"

/* It continues while a callee has these shares of its caller and of the whole. */
#define CALLEE_SHARE 0.5
#define WHOLE_SHARE  0.15
enum {
	DEPTH_MAX = 256, /* length before it is shortened */
};
#define ENDED UINT32_MAX /* no further frame */

/* How far a stack on the path was followed. */
struct cursor {
	const struct op_collect_stack *stack;
	/* locations that are left, and lines that are left of the next one */
	uint32_t locations;
	uint32_t lines;
	uint32_t label; /* line of the last frame */
	uint32_t line;
};

struct path {
	const struct answer_work *w;
	bool all;		  /* of all frames, not only of own code */
	OP_VEC(struct cursor) on; /* the stacks on the path */
	int64_t whole;
	struct answer_step of[DEPTH_MAX];
	size_t len;
};

static bool is_kept(const struct path *p, uint32_t function)
{
	enum op_frame_class of = p->w->classes[function];

	return p->all ? of != OP_CLASS_NONE : op_frame_class_is_own(of);
}

/* The next kept frame inwards, or NULL. Moves @c behind it. */
static const struct op_collect_line *next_frame(const struct path *p, struct cursor *c)
{
	const struct op_collect *o = p->w->v->c;
	const struct op_collect_location *l;
	const struct op_collect_line *line;

	while (c->locations) {
		l = &o->locations.data[o->location_numbers.data[c->stack->locations +
								c->locations - 1]];
		while (c->lines < l->lines_len) {
			c->lines++;
			line = &o->lines.data[l->lines + l->lines_len - c->lines];
			if (is_kept(p, line->function))
				return line;
		}
		c->locations--;
		c->lines = 0;
	}
	return NULL;
}

/* Move to the next function. Recursion is one step, with the innermost line. */
static void advance(const struct path *p, struct cursor *c)
{
	const struct op_collect_line *frame = next_frame(p, c);
	struct cursor at;

	c->label = ENDED;
	while (frame) {
		c->label = frame->function;
		c->line = frame->line;
		at = *c;
		frame = next_frame(p, &at);
		if (!frame || frame->function != c->label)
			return;
		*c = at;
	}
}

static int begin(struct path *p)
{
	const struct view *v = p->w->v;
	const struct op_collect_stack *s;
	struct cursor *c;

	op_vec_foreach(s, &v->c->stacks) {
		if (!view_wants(v, s) || op_idle_has(&p->w->idle, s))
			continue;
		c = op_vec_push(&p->on);
		if (!c)
			return -ENOMEM;
		*c = (struct cursor){
			.stack = s,
			.locations = s->locations_len,
			.label = v->c->processes.data[s->process].name | VIEW_PROCESS,
		};
		p->whole = op_collect_sum(p->whole, s->value);
	}
	return 0;
}

/* The label with the largest sum among the stacks on the path, or ENDED. */
static int largest(const struct path *p, uint32_t *ret, int64_t *ret_value)
{
	struct sums sums = { 0 };
	const struct cursor *c;
	int r = 0;

	op_vec_foreach(c, &p->on) {
		if (c->label != ENDED && !r)
			r = sums_add(&sums, c->label, c->stack->value);
	}
	sums_sort(&sums);
	*ret = sums.items.len ? (uint32_t)sums.items.data[0].key : ENDED;
	*ret_value = sums.items.len ? sums.items.data[0].value : 0;
	sums_clear(&sums);
	return r;
}

/* Keep the stacks that reached @label, and find its line with the largest sum. */
static int keep(struct path *p, uint32_t label, uint32_t *ret_line)
{
	struct sums lines = { 0 };
	struct cursor *c;
	size_t n = 0;
	int r = 0;

	op_vec_foreach(c, &p->on) {
		if (c->label != label)
			continue;
		if (c->line && !r)
			r = sums_add(&lines, c->line, c->stack->value);
		p->on.data[n++] = *c;
	}
	p->on.len = n;
	sums_sort(&lines);
	*ret_line = lines.items.len ? (uint32_t)lines.items.data[0].key : 0;
	sums_clear(&lines);
	return r;
}

static int walk(struct path *p)
{
	int64_t value, last = p->whole;
	uint32_t label, line = 0;
	struct cursor *c;
	int r;

	while (p->len < DEPTH_MAX) {
		r = largest(p, &label, &value);
		if (r || label == ENDED || (double)value < CALLEE_SHARE * (double)last ||
		    (double)value < WHOLE_SHARE * (double)p->whole)
			return r;
		r = keep(p, label, &line);
		if (r)
			return r;
		p->of[p->len++] = (struct answer_step){ label, line, value };
		last = value;
		op_vec_foreach(c, &p->on)
			advance(p, c);
	}
	return 0;
}

/* Functions on every stack before main() or a thread's function. */
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

/* Remove the step with the least information: the one whose callee has nearly all of
 * its value. The program and the innermost step stay. */
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

int answer_path(struct answer_work *w)
{
	struct path p = { .w = w, .all = w->a->own < w->v->total / 2 };
	int r = begin(&p);

	if (!r)
		r = walk(&p);
	if (!r) {
		drop_starts(&p);
		while (p.len > ANSWER_PATH_MAX)
			shorten(&p);
		memcpy(w->a->path, p.of, p.len * sizeof(p.of[0]));
		w->a->path_len = p.len;
	}
	op_vec_clear(&p.on);
	return r;
}
