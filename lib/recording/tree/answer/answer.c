/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/tree/answer/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "export/format/kinds.h"

/* Of a recording: a thread that was on a CPU for so much of it is one of those that work. */
#define RAN_SHARE 0.02
/* A wait with so much of it is all of it: kinds are not turned on and off at one moment. */
#define ALL_SHARE 0.9

static bool type_is(const struct view *v, const char *type)
{
	return view_text_is(v->c, v->c->kinds.data[v->kind].counted_type, type);
}

static enum answer_about about_of(const struct view *v)
{
	static const char *const waits[] = { "off_cpu", "delay", "contentions", "wall",
					     "threads" };
	const struct op_collect_kind *k = &v->c->kinds.data[v->kind];
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(waits); i++)
		if (type_is(v, waits[i]))
			return ABOUT_WAITS;
	if (op_collect_is_clock(v->c, k) || op_collect_is_weighed(k))
		return ABOUT_TIME;
	return view_text_is(v->c, k->counted_unit, "bytes") ? ABOUT_MEMORY : ABOUT_COUNTS;
}

const char *answer_title(const struct answer *a)
{
	static const char *const titles[] = {
		[ABOUT_TIME] = "your code",
		[ABOUT_WAITS] = "your code waits in",
		[ABOUT_MEMORY] = "your code",
		[ABOUT_COUNTS] = "your code",
	};

	if (type_is(a->v, "alloc_space") || type_is(a->v, "alloc_objects"))
		return "your code allocates in";
	if (type_is(a->v, "inuse_space") || type_is(a->v, "inuse_objects"))
		return "your code allocated what is in use";
	if (type_is(a->v, "wall"))
		return "your code is in";
	return titles[a->about];
}

/* The nanoseconds that a stack of the CPUs' samples stands for. */
static double cpu_ns(const struct op_collect *c, const struct op_collect_kind *k)
{
	return op_collect_is_clock(c, k) ? (double)k->period : 1;
}

static bool is_cpu(const struct op_collect *c, const struct op_collect_kind *k)
{
	return view_text_is(c, k->period_type, "cpu") &&
	       (op_collect_is_clock(c, k) || op_collect_is_weighed(k));
}

/* What one thread did, by its process and number. */
struct thread_time {
	uint64_t key;
	double on_ns;
	double off_ns;
	double wait_ns; /* of one wait, which may be the one at the end */
	bool stands;	/* at the end it waited */
};

static int compare_threads(const void *a, const void *b)
{
	const struct thread_time *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

/*
 * Add up the times of equal threads, which are sorted. Threads that never waited do not count. One
 * that waits at the end stands if that wait may be most of its time: one wait of it was, or values
 * do not have most of its time.
 */
static int sum_threads(struct answer_work *w, const struct thread_time *t, size_t len,
		       bool all_time)
{
	const double half_ns = w->a->seconds * OP_NS_PER_S / 2;
	struct answer *a = w->a;
	uint64_t *key;
	double on = 0, off = 0;
	size_t i, j;

	for (i = 0; i < len; i = j) {
		double thread_on = 0, thread_off = 0, wait = 0;
		bool stands = false, all;

		for (j = i; j < len && t[j].key == t[i].key; j++) {
			thread_on += t[j].on_ns;
			thread_off += t[j].off_ns;
			wait = OP_MAX(wait, t[j].wait_ns);
			stands |= t[j].stands;
		}
		if (stands && (thread_on + thread_off < half_ns || wait > half_ns)) {
			key = op_vec_push(&w->standing);
			if (!key)
				return -ENOMEM;
			*key = t[i].key;
			a->standing++;
			all = all_time && thread_on <= 0 &&
			      (thread_off <= 0 || wait > 2 * half_ns * ALL_SHARE);
			key = all ? op_vec_push(&w->whole) : key;
			if (!key)
				return -ENOMEM;
			*key = t[i].key;
		}
		a->ran += thread_on > RAN_SHARE * w->a->seconds * OP_NS_PER_S;
		if (thread_off <= 0)
			continue;
		a->threads++;
		on += thread_on;
		off += thread_off;
	}
	a->waited = on + off > 0 ? 100 * off / (on + off) : 0;
	return 0;
}

/* CPUs used and how long threads waited, of what is recorded beside the view's kind, too. */
int answer_threads(struct answer_work *w)
{
	const struct op_collect *c = w->v->c;
	_cleanup_free_ struct thread_time *times = NULL;
	const struct op_collect_stack *s;
	struct view of_kind = *w->v;
	double cpu = 0;
	bool any_cpu = false, any_off = false;
	size_t n = 0;

	w->a->seconds = (double)(c->end_ns - c->start_ns) / OP_NS_PER_S;
	times = calloc(c->stacks.len + 1, sizeof(*times));
	if (!times)
		return -ENOMEM;
	op_vec_foreach(s, &c->stacks) {
		const struct op_collect_kind *k = &c->kinds.data[s->kind];
		bool on = is_cpu(c, k), off = view_text_is(c, k->counted_type, "off_cpu");
		bool stands = view_text_is(c, k->counted_type, "threads") && s->value &&
			      view_text_is(c, s->reason, "sleeping");

		of_kind.kind = s->kind;
		any_cpu |= on;
		any_off |= off;
		if ((!on && !off && !stands) || !view_wants(&of_kind, s))
			continue;
		if (on)
			cpu += (double)s->value * cpu_ns(c, k);
		if (s->thread_id < 0)
			continue;
		times[n++] = (struct thread_time){
			answer_thread_key(s),
			on ? (double)s->value * cpu_ns(c, k) : 0,
			off ? (double)s->value : 0,
			off && s->samples == 1 ? (double)s->value : 0,
			stands,
		};
	}
	qsort(times, n, sizeof(*times), compare_threads);
	w->a->cpus =
		any_cpu && w->a->seconds > 0 ? cpu / OP_NS_PER_S / w->a->seconds : -1;
	return sum_threads(w, times, n, any_cpu && any_off);
}

int answer_make(const struct view *v, struct answer *ret)
{
	_cleanup_free_ uint8_t *classes = NULL, *services = NULL;
	const struct op_collect_kind *k = &v->c->kinds.data[v->kind];
	struct answer_work w = { .v = v, .a = ret };
	uint32_t i;
	int r;

	*ret = (struct answer){ .v = v,
				.about = about_of(v),
				.counts = type_is(v, "threads"),
				.moment = op_moments_has_type(
					op_strings_get(&v->c->strings, k->counted_type)),
				.sampled = op_collect_is_clock(v->c, k) ||
					   op_collect_is_weighed(k) };
	classes = malloc(v->c->functions.len + 1);
	services = malloc(v->c->functions.len + 1);
	if (!classes || !services)
		return -ENOMEM;
	for (i = 0; i < v->c->functions.len; i++) {
		classes[i] = (uint8_t)op_frame_class_of(v->c, i);
		services[i] = (uint8_t)service_of(v->c, i);
	}
	w.classes = classes;
	w.services = services;
	r = answer_threads(&w);
	if (!r)
		r = answer_rows(&w);
	if (!r)
		r = answer_stands(&w);
	if (!r)
		r = answer_path(&w);
	op_vec_clear(&w.standing);
	op_vec_clear(&w.whole);
	return r;
}
