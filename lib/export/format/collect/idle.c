/* SPDX-License-Identifier: Apache-2.0 */
#include "export/format/collect/idle.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "export/format/collect/kinds.h"
#include "export/format/collect/waits.h"

/* A thread with this share of its time on a CPU, or in other waits, has work. */
#define WORK_SHARE 0.02
/* A wait with this share counts as all of the time: kinds are not turned on and off at
 * the same moment. */
#define ALL_SHARE 0.9
/* Other threads must have waited this share of one thread's time to come first. */
#define LEAST_SHARE 0.1

struct thread {
	uint64_t key;
	double on_ns;
	double busy_ns; /* waits of threads that have work */
	int64_t off_ns; /* all waits */
};

static int compare_threads(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static int compare_keys(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

bool op_collect_has_thread(const uint64_t *keys, size_t len, uint64_t key)
{
	return len && bsearch(&key, keys, len, sizeof(key), compare_keys);
}

bool op_idle_has(const struct op_idle *idle, const struct op_collect_stack *s)
{
	if (idle->waits)
		return op_wait_may_be_idle(op_wait_of(idle->c, idle->classes, s));
	return op_collect_has_thread(idle->threads.data, idle->threads.len,
				     op_collect_thread_key(s));
}

void op_idle_clear(struct op_idle *idle)
{
	op_vec_clear(&idle->threads);
}

/* Sort the entries, and add up those of one thread. Returns the number of threads. */
static size_t sum_equal(struct thread *threads, size_t len)
{
	struct thread *sum = NULL;
	size_t i, n = 0;

	qsort(threads, len, sizeof(*threads), compare_threads);
	for (i = 0; i < len; i++) {
		if (!sum || sum->key != threads[i].key) {
			sum = &threads[n++];
			*sum = threads[i];
			continue;
		}
		sum->on_ns += threads[i].on_ns;
		sum->busy_ns += threads[i].busy_ns;
		sum->off_ns = op_collect_sum(sum->off_ns, threads[i].off_ns);
	}
	return n;
}

/* If it is not known how long threads ran, one that waited all the time did not run. */
static bool is_idle(const struct thread *t, double all_ns, bool any_cpu)
{
	double off = (double)t->off_ns;

	return off > 0 && (any_cpu || off >= ALL_SHARE * all_ns) &&
	       t->on_ns + t->busy_ns <= WORK_SHARE * (t->on_ns + off);
}

static int note_idle(const struct thread *threads, size_t len, double all_ns,
		     bool any_cpu, struct op_idle *ret)
{
	const struct thread *t;
	double others = 0;
	uint64_t *key;

	for (t = threads; t < threads + len; t++) {
		if (!is_idle(t, all_ns, any_cpu)) {
			others += (double)t->off_ns;
			continue;
		}
		key = op_vec_push(&ret->threads);
		if (!key)
			return -ENOMEM;
		*key = t->key;
		ret->value = op_collect_sum(ret->value, t->off_ns);
	}
	if (others < LEAST_SHARE * all_ns) {
		ret->threads.len = 0;
		ret->value = 0;
	}
	return 0;
}

static void add_waits(const struct op_collect *c, uint32_t kind, op_idle_wants_fn wants,
		      void *data, struct op_idle *ret)
{
	const struct op_collect_stack *s;

	ret->waits = true;
	op_vec_foreach(s, &c->stacks)
		if (s->kind == kind && (!wants || wants(data, s)) && op_idle_has(ret, s))
			ret->value = op_collect_sum(ret->value, s->value);
}

int op_idle_find(const struct op_collect *c, const uint8_t *classes, uint32_t kind,
		 op_idle_wants_fn wants, void *data, struct op_idle *ret)
{
	struct otlp_text type =
		op_strings_get(&c->strings, c->kinds.data[kind].counted_type);
	_cleanup_free_ struct thread *threads = NULL;
	const struct op_collect_stack *s;
	bool any_cpu = false;
	struct thread *t;
	size_t n = 0;

	ret->c = c;
	ret->classes = classes;
	if (otlp_text_is(type, "delay") || otlp_text_is(type, "contentions"))
		add_waits(c, kind, wants, data, ret);
	if (!otlp_text_is(type, "off_cpu"))
		return 0;
	threads = calloc(c->stacks.len + 1, sizeof(*threads));
	if (!threads)
		return -ENOMEM;
	op_vec_foreach(s, &c->stacks) {
		bool on_cpu = op_collect_is_cpu(c, &c->kinds.data[s->kind]);

		if ((!on_cpu && s->kind != kind) || (wants && !wants(data, s)))
			continue;
		any_cpu |= on_cpu;
		t = &threads[n++];
		t->key = op_collect_thread_key(s);
		if (on_cpu)
			t->on_ns = op_collect_cpu_ns(c, s);
		else
			t->off_ns = s->value;
		if (!on_cpu && !op_wait_may_be_idle(op_wait_of(c, classes, s)))
			t->busy_ns = (double)s->value;
	}
	return note_idle(threads, sum_equal(threads, n),
			 (double)(c->end_ns - c->start_ns), any_cpu, ret);
}
