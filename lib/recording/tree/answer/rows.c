/* SPDX-License-Identifier: Apache-2.0 */
/* Charges each stack to one place of the program's own code. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "recording/tree/answer/answer.h"

/* A row names the callee with this share of its value. */
#define IN_SHARE 0.4
/* A place of allocations is worth a row if it has this share of all that is in use. */
#define KEPT_SHARE 0.1
/* With idle threads, other rows need this share of what is not idle. */
#define SMALL_SHARE 0.02
/* Of a normal distribution: 95 % are within this many standard deviations. */
#define DEVIATIONS 1.96

/* A frame of a stack, leaf first. */
struct frame {
	uint32_t function;
	uint32_t line;
};

struct frames {
	OP_VEC(struct frame) of;
};

struct rows {
	struct answer_work *w;
	struct frames frames;
	OP_VEC(struct answer_row) of;
	struct op_map64 index; /* by function and wait */
	struct sums lines;     /* by row and line */
	/* by row and callee; the row's own part has ANSWER_NO_FUNCTION */
	struct sums ins;
	struct sums owners; /* by row and program */
	struct sums programs;
	int64_t waits[WAITS];
	int64_t services[SERVICES];
	uint64_t samples;
	int64_t own;	  /* charged to own code and libraries */
	bool of_standing; /* the values are threads that stand */
};

static int frames_of(const struct op_collect *c, const struct op_collect_stack *s,
		     struct frames *ret)
{
	const struct op_collect_location *l;
	const struct op_collect_line *line;
	struct frame *f;
	uint32_t i, j;

	ret->of.len = 0;
	for (i = 0; i < s->locations_len; i++) {
		l = &c->locations.data[c->location_numbers.data[s->locations + i]];
		for (j = 0; j < l->lines_len; j++) {
			line = &c->lines.data[l->lines + j];
			f = op_vec_push(&ret->of);
			if (!f)
				return -ENOMEM;
			*f = (struct frame){ line->function, line->line };
		}
	}
	return 0;
}

/* The frame to which a stack is charged: the innermost one of the first class that the
 * stack has. Kernel threads are charged to their outermost function. SIZE_MAX: the
 * stack has no frames. */
static size_t charged(const struct answer_work *w, const struct frames *f)
{
	enum op_frame_class best = OP_CLASS_NONE;
	size_t at = SIZE_MAX, i;

	for (i = 0; i < f->of.len; i++) {
		enum op_frame_class of = w->classes[f->of.data[i].function];

		if (of < best || (of == OP_CLASS_KERNEL && best == OP_CLASS_KERNEL &&
				  w->a->about == ABOUT_WAITS)) {
			best = of;
			at = i;
		}
	}
	return at != SIZE_MAX ? at : f->of.len ? 0 : SIZE_MAX;
}

/* The callee below the frame @at that has a name for people, or the leaf. */
static uint32_t in_of(const struct answer_work *w, const struct frames *f, size_t at)
{
	size_t i;

	for (i = at; i > 0; i--) {
		enum op_frame_class of = w->classes[f->of.data[i - 1].function];

		/* The word of the wait already describes the kernel's part. */
		if (of == OP_CLASS_KERNEL && w->a->about == ABOUT_WAITS)
			break;
		if (of != OP_CLASS_RUNTIME && of != OP_CLASS_NONE)
			return f->of.data[i - 1].function;
	}
	i = w->a->about == ABOUT_WAITS ? i : 0;
	return i < at && w->classes[f->of.data[i].function] != OP_CLASS_NONE
		       ? f->of.data[i].function
		       : ANSWER_NO_FUNCTION;
}

/* The innermost service that the stack is below: a compiler may have to wait for a
 * collector. */
static enum service service_in(const struct answer_work *w, const struct frames *f)
{
	size_t i;

	for (i = 0; i < f->of.len; i++)
		if (w->services[f->of.data[i].function] != SERVICE_NONE)
			return w->services[f->of.data[i].function];
	return SERVICE_NONE;
}

static int row_of(struct rows *r, uint32_t function, enum op_wait wait, uint32_t *ret)
{
	uint64_t key = (uint64_t)wait << 32 | function, i;
	struct answer_row *row;

	if (op_map64_get(&r->index, key, &i)) {
		*ret = (uint32_t)i;
		return 0;
	}
	row = op_vec_push(&r->of);
	if (!row)
		return -ENOMEM;
	*row = (struct answer_row){ .function = function,
				    .wait = wait,
				    .in = ANSWER_NO_FUNCTION,
				    .of = r->w->classes[function] };
	*ret = (uint32_t)r->of.len - 1;
	return op_map64_put(&r->index, key, *ret);
}

/* Add a stack that is charged to its frame @at to the sums of row @number. */
static int add_to_row(struct rows *r, uint32_t number, size_t at,
		      const struct op_collect_stack *s)
{
	const uint64_t row = (uint64_t)number << 32;
	uint32_t program = r->w->v->c->processes.data[s->process].name;
	int err = sums_add(&r->lines, row | r->frames.of.data[at].line, s->value);

	/* A thread calls nothing that interrupts it. */
	if (!err && r->of.data[number].wait != WAIT_CPU)
		err = sums_add(&r->ins, row | in_of(r->w, &r->frames, at), s->value);
	return err ? err : sums_add(&r->owners, row | program, s->value);
}

static int add_stack(struct rows *r, const struct op_collect_stack *s)
{
	struct answer_work *w = r->w;
	enum op_wait wait = w->a->about == ABOUT_WAITS
				    ? op_wait_of(w->v->c, w->classes, s)
				    : WAIT_NONE;
	enum service service = SERVICE_NONE;
	struct answer_row *row;
	const struct frame *f;
	uint32_t number = 0;
	size_t at;
	int err = frames_of(w->v->c, s, &r->frames);
	bool idle = !r->of_standing && op_idle_has(&w->idle, s);

	if (!idle || w->idle.waits)
		r->waits[wait] = op_collect_sum(r->waits[wait], s->value);
	r->samples += s->samples;
	if (!err)
		service = service_in(w, &r->frames);
	r->services[service] = op_collect_sum(r->services[service], s->value);
	if (!err)
		err = sums_add(&r->programs, w->v->c->processes.data[s->process].name,
			       s->value);
	at = err ? SIZE_MAX : charged(w, &r->frames);
	if (at == SIZE_MAX)
		return err;
	f = &r->frames.of.data[at];
	err = row_of(r, f->function, wait, &number);
	if (err)
		return err;
	row = &r->of.data[number];
	row->value = op_collect_sum(row->value, s->value);
	row->samples += s->samples;
	if (r->of_standing &&
	    op_collect_has_thread(w->whole.data, w->whole.len, op_collect_thread_key(s)))
		row->whole += s->value;
	if (idle)
		row->idle = op_collect_sum(row->idle, s->value);
	if (op_frame_class_is_own(row->of))
		r->own = op_collect_sum(r->own, s->value);
	return add_to_row(r, number, at, s);
}

/* Set the lines of rows: the known line with the largest value. */
static int take_lines(struct rows *r)
{
	_cleanup_free_ int64_t *most = calloc(r->of.len + 1, sizeof(*most));
	const struct sum *s;

	if (!most)
		return -ENOMEM;
	op_vec_foreach(s, &r->lines.items) {
		if (!(uint32_t)s->key || s->value <= most[s->key >> 32])
			continue;
		most[s->key >> 32] = s->value;
		r->of.data[s->key >> 32].line = (uint32_t)s->key;
	}
	return 0;
}

static int take_ins(struct rows *r)
{
	_cleanup_free_ int64_t *most = calloc(r->of.len + 1, sizeof(*most));
	const struct answer_row *row;
	const struct sum *s;

	if (!most)
		return -ENOMEM;
	op_vec_foreach(s, &r->ins.items) {
		row = &r->of.data[s->key >> 32];
		if ((double)s->value < IN_SHARE * (double)row->value ||
		    s->value <= most[s->key >> 32])
			continue;
		most[s->key >> 32] = s->value;
		r->of.data[s->key >> 32].in = (uint32_t)s->key;
	}
	return 0;
}

static int take_owners(struct rows *r)
{
	_cleanup_free_ int64_t *most = calloc(r->of.len + 1, sizeof(*most));
	const struct sum *s;

	if (!most)
		return -ENOMEM;
	op_vec_foreach(s, &r->owners.items) {
		if (s->value <= most[s->key >> 32])
			continue;
		most[s->key >> 32] = s->value;
		r->of.data[s->key >> 32].program = (uint32_t)s->key;
	}
	return 0;
}

static void take_programs(struct rows *r)
{
	struct answer *a = r->w->a;
	const struct sum *s;

	sums_sort(&r->programs);
	op_vec_foreach(s, &r->programs.items) {
		if (a->programs_len == ANSWER_PROGRAMS_MAX)
			break;
		a->programs[a->programs_len].name = (uint32_t)s->key;
		a->programs[a->programs_len++].value = s->value;
	}
	a->programs_more = r->programs.items.len - a->programs_len;
}

/* Half of Wilson's interval for a share of @all samples, in points. */
static double error_of(double share, uint64_t all)
{
	const double z = DEVIATIONS;
	double n = (double)all;

	return 100 * z / (1 + z * z / n) *
	       sqrt(share * (1 - share) / n + z * z / (4 * n * n));
}

/* Order: own code and libraries first, then other classes. In each, idle threads last. */
static int compare(const void *a, const void *b)
{
	const struct answer_row *x = a, *y = b;
	bool own = op_frame_class_is_own(x->of);

	if (own != op_frame_class_is_own(y->of))
		return own ? -1 : 1;
	if (answer_row_is_idle(x) != answer_row_is_idle(y))
		return answer_row_is_idle(y) ? -1 : 1;
	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return (int)x->wait - (int)y->wait;
}

static void take_waits(struct rows *r)
{
	struct answer *a = r->w->a;
	size_t i, at;

	for (i = WAIT_OTHER; i < WAITS; i++) {
		for (at = a->waits_len; at && a->waits[at - 1].value < r->waits[i]; at--)
			if (at < ANSWER_WAITS_MAX)
				a->waits[at] = a->waits[at - 1];
		if (r->waits[i] <= 0 || at == ANSWER_WAITS_MAX)
			continue;
		a->waits[at].wait = (enum op_wait)i;
		a->waits[at].value = r->waits[i];
		a->waits_len += a->waits_len < ANSWER_WAITS_MAX;
	}
}

/* Idle threads come last, and small rows before them would take their place. */
static bool is_small_beside_idle(const struct answer *a, const struct answer_row *row)
{
	return a->idle && !answer_row_is_idle(row) &&
	       (double)row->value < SMALL_SHARE * ((double)a->v->total - (double)a->idle);
}

static void take_rows(struct rows *r)
{
	struct answer *a = r->w->a;
	struct answer_row *row;
	size_t i;

	a->own = r->own;
	for (i = 0; i < r->of.len && a->rows_len < ANSWER_ROWS_MAX; i++) {
		/* Without any own code, show the other classes. */
		if (!op_frame_class_is_own(r->of.data[i].of) && a->own)
			break;
		if (is_small_beside_idle(a, &r->of.data[i]))
			continue;
		row = &a->rows[a->rows_len++];
		*row = r->of.data[i];
		if (a->sampled && r->samples && a->v->total > 0)
			row->error = error_of((double)row->value / (double)a->v->total,
					      r->samples);
	}
	a->rows_more = r->of.len - a->rows_len;
}

/* Set lines, callees and programs of the rows, and sort them. */
static int finish(struct rows *r)
{
	int err = take_lines(r);

	if (!err)
		err = take_ins(r);
	if (!err)
		err = take_owners(r);
	if (!err && r->of.len)
		qsort(r->of.data, r->of.len, sizeof(*r->of.data), compare);
	return err;
}

static void rows_clear(struct rows *r)
{
	op_vec_clear(&r->frames.of);
	op_vec_clear(&r->of);
	op_map64_clear(&r->index);
	sums_clear(&r->lines);
	sums_clear(&r->ins);
	sums_clear(&r->owners);
	sums_clear(&r->programs);
}

int answer_rows(struct answer_work *w)
{
	struct rows r = { .w = w };
	const struct op_collect_stack *s;
	int err = 0;

	op_vec_foreach(s, &w->v->c->stacks) {
		if (view_wants(w->v, s) && !err)
			err = add_stack(&r, s);
	}
	if (!err)
		err = finish(&r);
	if (!err) {
		take_programs(&r);
		take_waits(&r);
		memcpy(w->a->services, r.services, sizeof(r.services));
		take_rows(&r);
	}
	rows_clear(&r);
	return err;
}

static bool is_of(const struct answer_work *w, uint32_t kind, const char *type)
{
	return view_text_is(w->v->c, w->v->c->kinds.data[kind].counted_type, type);
}

/* Is @s a wait that has not ended, or memory in use, in addition to a view of waits or
 * of allocations? */
static bool stands(const struct answer_work *w, const struct op_collect_stack *s)
{
	if (w->a->about == ABOUT_MEMORY)
		return is_of(w, s->kind, "inuse_space");
	return is_of(w, s->kind, "threads") &&
	       op_collect_has_thread(w->standing.data, w->standing.len,
				     op_collect_thread_key(s));
}

static bool may_stand(const struct answer_work *w)
{
	if (w->a->about == ABOUT_MEMORY)
		return is_of(w, w->v->kind, "alloc_space");
	return w->a->about == ABOUT_WAITS && !w->a->counts && w->standing.len;
}

static int deadlocked_first(const void *a, const void *b)
{
	const struct answer_row *x = a, *y = b;

	if (op_wait_may_deadlock(x->wait) != op_wait_may_deadlock(y->wait))
		return op_wait_may_deadlock(x->wait) ? -1 : 1;
	return compare(a, b);
}

/* Take the largest ones. All programs keep a little memory, which is no answer. */
static void take_stands(struct rows *r)
{
	struct answer *a = r->w->a;
	const struct answer_row *row;

	if (a->about != ABOUT_MEMORY && r->of.len)
		qsort(r->of.data, r->of.len, sizeof(*r->of.data), deadlocked_first);
	op_vec_foreach(row, &r->of) {
		if (a->stands_len == ANSWER_STANDS_MAX)
			break;
		if (a->about != ABOUT_MEMORY)
			a->stands_first += op_wait_may_deadlock(row->wait);
		if (a->about != ABOUT_MEMORY ||
		    (double)row->value >= KEPT_SHARE * (double)a->in_use)
			a->stands[a->stands_len++] = *row;
	}
}

int answer_stands(struct answer_work *w)
{
	struct view of_kind = *w->v;
	struct rows r = { .w = w, .of_standing = w->a->about != ABOUT_MEMORY };
	const struct op_collect_stack *s;
	int64_t sum = 0;
	int err = 0;

	w->a->in_use = -1;
	if (!may_stand(w))
		return 0;
	op_vec_foreach(s, &w->v->c->stacks) {
		of_kind.kind = s->kind;
		if (err || !stands(w, s) || !view_wants(&of_kind, s))
			continue;
		if (w->a->about == ABOUT_MEMORY)
			w->a->in_use = sum = op_collect_sum(sum, s->value);
		if (s->value)
			err = add_stack(&r, s);
	}
	if (!err)
		err = finish(&r);
	if (!err)
		take_stands(&r);
	rows_clear(&r);
	return err;
}
