/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/tree/answer/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "export/format/collect/kinds.h"

/* Share of the recording that a thread must have run to count as one that works. */
#define RAN_SHARE 0.02
/* A wait with this share counts as all of the time: kinds are not turned on and off at
 * the same moment. */
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

/* The times of one thread, by its process and number. Each kind is separate. */
struct thread_time {
	uint64_t key;
	double on_ns;
	double off_ns;
	double lock_ns; /* waits for locks */
	double locks;	/* number of these waits */
	double wait_ns; /* of one wait, if that is known: it may be the one at the end */
	bool stands;	/* it waits at the end */
};

static int compare_threads(const void *a, const void *b)
{
	const struct thread_time *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

/* Sort the entries, and add up those of one thread. Returns the number of threads. */
static size_t sum_equal(struct thread_time *times, size_t len)
{
	const struct thread_time *t;
	struct thread_time *sum;
	size_t i, n = 0;

	qsort(times, len, sizeof(*times), compare_threads);
	for (i = 0; i < len; i++) {
		t = &times[i];
		if (!n || times[n - 1].key != t->key) {
			times[n++] = *t;
			continue;
		}
		sum = &times[n - 1];
		sum->on_ns += t->on_ns;
		sum->off_ns += t->off_ns;
		sum->lock_ns += t->lock_ns;
		sum->locks += t->locks;
		sum->wait_ns = OP_MAX(sum->wait_ns, t->wait_ns);
		sum->stands |= t->stands;
	}
	for (i = 0; i < n; i++)
		if (times[i].locks > 0 && times[i].locks < 2)
			times[i].wait_ns = OP_MAX(times[i].wait_ns, times[i].lock_ns);
	return n;
}

/*
 * A thread that waits at the end *stands* if that wait may be most of its time: one
 * wait of it was, or its values have neither most of its time nor waits for locks that
 * ended.
 */
static int note_standing(struct answer_work *w, const struct thread_time *t,
			 bool all_time)
{
	const double all_ns = w->a->seconds * OP_NS_PER_S;
	double known = OP_MAX(t->on_ns + t->off_ns, t->lock_ns);
	uint64_t *key;

	if (!t->stands ||
	    ((known >= all_ns / 2 || t->locks >= 2) && t->wait_ns <= all_ns / 2))
		return 0;
	key = op_vec_push(&w->standing);
	if (!key)
		return -ENOMEM;
	*key = t->key;
	w->a->threads.standing++;
	if (!all_time || t->on_ns > 0 ||
	    (t->off_ns > 0 && t->wait_ns <= all_ns * ALL_SHARE))
		return 0;
	key = op_vec_push(&w->whole);
	if (!key)
		return -ENOMEM;
	*key = t->key;
	return 0;
}

/* Add up the times of threads. Threads that never waited and idle ones do not count. */
static int sum_threads(struct answer_work *w, const struct thread_time *times, size_t len,
		       bool all_time)
{
	struct answer *a = w->a;
	const struct thread_time *t;
	double on = 0, off = 0;
	int r = 0;

	for (t = times; !r && t < times + len; t++) {
		r = note_standing(w, t, all_time);
		a->threads.ran += t->on_ns > RAN_SHARE * a->seconds * OP_NS_PER_S;
		if (t->off_ns <= 0)
			continue;
		a->threads.waited++;
		if (op_collect_has_thread(w->idle.threads.data, w->idle.threads.len,
					  t->key))
			continue;
		on += t->on_ns;
		off += t->off_ns;
	}
	a->waited = on + off > 0 ? 100 * off / (on + off) : 0;
	return r;
}

/* Did the thread run while its stack was read? */
static bool moved(const struct op_collect *c, const struct op_collect_stack *s)
{
	const struct op_collect_location *l;
	uint32_t function;

	if (s->locations_len != 1)
		return false;
	l = &c->locations.data[c->location_numbers.data[s->locations]];
	function = c->lines.data[l->lines].function;
	return view_text_is(c, c->functions.data[function].name, "[running]");
}

/* Add the stack's value to the times of its thread. Returns false if it has none. */
static bool time_of(const struct op_collect *c, const struct op_collect_stack *s,
		    struct thread_time *ret)
{
	const struct op_collect_kind *k = &c->kinds.data[s->kind];
	double value = (double)s->value;

	*ret = (struct thread_time){ .key = op_collect_thread_key(s) };
	if (op_collect_is_cpu(c, k))
		ret->on_ns = op_collect_cpu_ns(c, s);
	else if (view_text_is(c, k->counted_type, "off_cpu"))
		ret->off_ns = value;
	else if (view_text_is(c, k->counted_type, "delay"))
		ret->lock_ns = value;
	else if (view_text_is(c, k->counted_type, "contentions"))
		ret->locks = value;
	else if (view_text_is(c, k->counted_type, "threads"))
		ret->stands = s->value && view_text_is(c, s->reason, "sleeping") &&
			      !moved(c, s);
	if (s->samples == 1)
		ret->wait_ns = ret->off_ns;
	return ret->stands || ret->on_ns + ret->off_ns + ret->lock_ns + ret->locks > 0;
}

/* CPUs used and how long threads waited, from all recorded kinds. */
int answer_threads(struct answer_work *w)
{
	const struct op_collect *c = w->v->c;
	_cleanup_free_ struct thread_time *times = NULL;
	const struct op_collect_stack *s;
	struct view of_kind = *w->v;
	bool any_cpu = false, any_off = false;
	struct thread_time t;
	double cpu = 0;
	size_t n = 0;

	w->a->seconds = (double)(c->end_ns - c->start_ns) / OP_NS_PER_S;
	times = calloc(c->stacks.len + 1, sizeof(*times));
	if (!times)
		return -ENOMEM;
	op_vec_foreach(s, &c->stacks) {
		const struct op_collect_kind *k = &c->kinds.data[s->kind];

		of_kind.kind = s->kind;
		any_cpu |= op_collect_is_cpu(c, k);
		any_off |= view_text_is(c, k->counted_type, "off_cpu");
		if (!time_of(c, s, &t) || !view_wants(&of_kind, s))
			continue;
		cpu += t.on_ns;
		if (s->thread_id < 0)
			continue;
		times[n++] = t;
	}
	w->a->cpus =
		any_cpu && w->a->seconds > 0 ? cpu / OP_NS_PER_S / w->a->seconds : -1;
	return sum_threads(w, times, sum_equal(times, n), any_cpu && any_off);
}

static bool wants(void *data, const struct op_collect_stack *s)
{
	struct view *v = data;

	v->kind = s->kind;
	return view_wants(v, s);
}

/* Idle threads, and then what the others did. */
static int threads_and_idle(struct answer_work *w)
{
	struct view of_kind = *w->v;
	int r = op_idle_find(w->v->c, w->classes, w->v->kind, wants, &of_kind, &w->idle);

	if (r)
		return r;
	w->a->threads.idle = w->idle.threads.len;
	w->a->idle = w->idle.value;
	w->a->idle_waits = w->idle.waits;
	return answer_threads(w);
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
	r = threads_and_idle(&w);
	if (!r)
		r = answer_rows(&w);
	if (!r)
		r = answer_stands(&w);
	if (!r)
		r = answer_path(&w);
	op_vec_clear(&w.standing);
	op_vec_clear(&w.whole);
	op_idle_clear(&w.idle);
	return r;
}
