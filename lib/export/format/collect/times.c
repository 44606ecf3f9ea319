/* SPDX-License-Identifier: Apache-2.0 */
/* The times of a collection's samples, in bounded memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "export/format/collect/collect.h"
#include "export/format/collect/kinds.h"

enum {
	SHIFT_MIN = 20, /* bins of a millisecond */
	SHIFT_MAX = 62,
};

int op_collect_keep_times(struct op_collect *c)
{
	struct op_times *t = calloc(1, sizeof(*t));
	struct op_times_thread *thread = t ? op_vec_push(&t->threads) : NULL;
	struct op_times_trace *trace = t ? op_vec_push(&t->traces) : NULL;

	if (!thread || !trace) {
		(void)op_times_free(t);
		return -ENOMEM;
	}
	*thread = (struct op_times_thread){ .id = -1 };
	*trace = (struct op_times_trace){ 0 };
	t->shift = SHIFT_MIN;
	t->max = OP_TIMES_MAX;
	c->times = t;
	return 0;
}

struct op_times *op_times_free(struct op_times *t)
{
	if (!t)
		return NULL;
	op_vec_clear(&t->entries);
	op_vec_clear(&t->threads);
	op_vec_clear(&t->traces);
	op_vec_clear(&t->windows);
	op_index_clear(&t->thread_index);
	op_index_clear(&t->trace_index);
	free(t);
	return NULL;
}

static int compare_entries(const void *a, const void *b)
{
	const struct op_times_entry *x = a, *y = b;

	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	if (x->tick != y->tick)
		return x->tick < y->tick ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->trace < y->trace ? -1 : x->trace > y->trace;
}

/* Foreign values: the sum wraps around. */
static int64_t sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Sort the entries and merge equal ones. */
static void merge(struct op_times *t)
{
	struct op_times_entry *e, *last = NULL;
	size_t kept = 0;

	if (t->entries.len)
		qsort(t->entries.data, t->entries.len, sizeof(*t->entries.data),
		      compare_entries);
	op_vec_foreach(e, &t->entries) {
		if (last && compare_entries(last, e) == 0) {
			last->value = sum(last->value, e->value);
			continue;
		}
		last = &t->entries.data[kept++];
		*last = *e;
	}
	t->entries.len = kept;
}

static uint64_t bins(const struct op_times *t)
{
	uint64_t first = UINT64_MAX, last = 0;
	const struct op_times_entry *e;

	op_vec_foreach(e, &t->entries) {
		first = OP_MIN(first, e->tick);
		last = OP_MAX(last, e->tick);
	}
	return first > last ? 0 : last - first + 1;
}

/* Distinguish less. Returns false if nothing is left to drop. */
static bool coarsen(struct op_times *t)
{
	struct op_times_entry *e;
	uint64_t now = bins(t);

	if (now <= OP_TIMES_BINS && !t->traces_lost && t->traces.len > 1) {
		t->traces_lost = true;
		op_vec_foreach(e, &t->entries)
			e->trace = OP_TIMES_NONE;
		return true;
	}
	if (now <= OP_TIMES_BINS / 8 && !t->threads_lost) {
		t->threads_lost = true;
		op_vec_foreach(e, &t->entries)
			e->thread = OP_TIMES_NONE;
		return true;
	}
	if (now <= 1 || t->shift == SHIFT_MAX)
		return false;
	t->shift++;
	op_vec_foreach(e, &t->entries)
		e->tick >>= 1;
	return true;
}

/* Keep a quarter of the limit free, so that the next call is not soon. */
static void make_room(struct op_times *t)
{
	merge(t);
	while (t->entries.len > t->max - t->max / 4) {
		if (!coarsen(t)) {
			t->full = true;
			op_vec_clear(&t->entries);
			return;
		}
		merge(t);
	}
}

static int push(struct op_times *t, struct op_times_entry entry)
{
	struct op_times_entry *e;

	if (t->entries.len >= t->max)
		make_room(t);
	if (t->full)
		return 0;
	e = op_vec_push(&t->entries);
	if (!e)
		return -ENOMEM;
	*e = entry;
	e->tick >>= t->shift;
	return 0;
}

static bool thread_equal(const void *elements, uint32_t i, const void *key)
{
	const struct op_times *t = elements;
	const struct op_times_thread *a = &t->threads.data[i], *b = key;

	return a->id == b->id && a->process == b->process && a->name == b->name;
}

static int find_thread(struct op_collect *c, const struct otlp_sample_view *v,
		       uint32_t process, uint32_t *ret)
{
	struct op_times *t = c->times;
	struct op_times_thread k = { .id = v->thread_id, .process = process }, *e;
	uint32_t hash, i;
	int r;

	if (v->thread_id < 0 || t->threads_lost)
		return 0;
	r = op_strings_add(&c->strings, v->thread_name, &k.name);
	if (r)
		return r;
	hash = (uint32_t)op_hash_u64(((uint64_t)process << 32 ^ (uint64_t)k.id) ^
				     c->seed);
	i = op_index_find(&t->thread_index, hash, t, &k, thread_equal);
	if (i == UINT32_MAX && t->threads.len >= OP_TIMES_THREADS) {
		t->threads_lost = true;
		return 0;
	}
	if (i == UINT32_MAX) {
		e = op_vec_push(&t->threads);
		if (!e)
			return -ENOMEM;
		*e = k;
		i = (uint32_t)t->threads.len - 1;
		if (op_index_add(&t->thread_index, hash, i))
			return -ENOMEM;
	}
	*ret = i;
	return 0;
}

static bool trace_equal(const void *elements, uint32_t i, const void *key)
{
	const struct op_times *t = elements;

	return memcmp(t->traces.data[i].id, key, OP_TIMES_TRACE_BYTES) == 0;
}

/* Link 0 is none. */
static int find_trace(struct op_collect *c, const struct otlp_profiles *p, int32_t link,
		      uint32_t *ret)
{
	struct op_times *t = c->times;
	struct op_times_trace *e;
	struct otlp_text id;
	uint32_t hash, i;

	if (link <= 0 || (uint32_t)link >= p->links.len || t->traces_lost)
		return 0;
	id = p->links.data[link].trace_id;
	if (id.len != OP_TIMES_TRACE_BYTES)
		return 0;
	hash = (uint32_t)op_hash_bytes(id.data, id.len, c->seed);
	i = op_index_find(&t->trace_index, hash, t, id.data, trace_equal);
	if (i == UINT32_MAX && t->traces.len >= OP_TIMES_TRACES) {
		t->traces_lost = true;
		return 0;
	}
	if (i == UINT32_MAX) {
		e = op_vec_push(&t->traces);
		if (!e)
			return -ENOMEM;
		memcpy(e->id, id.data, id.len);
		i = (uint32_t)t->traces.len - 1;
		if (op_index_add(&t->trace_index, hash, i))
			return -ENOMEM;
	}
	*ret = i;
	return 0;
}

static int compare_windows(const void *a, const void *b)
{
	const struct op_times_window *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

void op_times_join_windows(struct op_times *t)
{
	struct op_times_window *w, *last = NULL;
	size_t kept = 0;

	if (t->windows.len)
		qsort(t->windows.data, t->windows.len, sizeof(*t->windows.data),
		      compare_windows);
	op_vec_foreach(w, &t->windows) {
		/* entries less than a bin apart are equal */
		if (last && w->start_ns <= last->end_ns + (UINT64_C(1) << t->shift)) {
			last->end_ns = OP_MAX(last->end_ns, w->end_ns);
			continue;
		}
		last = &t->windows.data[kept++];
		*last = *w;
	}
	t->windows.len = kept;
}

/* The same window comes with every process and kind. Beyond the limit all become one. */
static int add_window(struct op_times *t, const struct otlp_profile *p)
{
	struct op_times_window *last =
		t->windows.len ? &t->windows.data[t->windows.len - 1] : NULL;
	uint64_t end = p->time_ns + OP_MIN(p->duration_ns, UINT64_MAX - p->time_ns);

	if (last && last->start_ns <= p->time_ns && last->end_ns >= end)
		return 0;
	if (t->windows.len >= OP_TIMES_WINDOWS)
		op_times_join_windows(t);
	if (t->windows.len >= OP_TIMES_WINDOWS) {
		last = &t->windows.data[t->windows.len - 1];
		last->start_ns = OP_MIN(last->start_ns, p->time_ns);
		last->end_ns = OP_MAX(last->end_ns, end);
		return 0;
	}
	last = op_vec_push(&t->windows);
	if (!last)
		return -ENOMEM;
	*last = (struct op_times_window){ p->time_ns, end };
	return 0;
}

/* The time that one sample of a clock covers, if rates differ; 1 for others. */
static int64_t period_of(const struct op_collect *c, const struct op_collect_kind *k,
			 const struct otlp_sample_view *v)
{
	return op_collect_is_clock(c, k) || op_collect_is_weighed(k) ? v->profile->period
								     : 1;
}

static int64_t scaled(int64_t value, int64_t by)
{
	return (int64_t)((uint64_t)value * (uint64_t)by);
}

/* A clock's time outside of its window is invalid: it would make all bins wide. */
static uint64_t within(const struct otlp_profile *p, uint64_t time_ns)
{
	if (time_ns < p->time_ns)
		return p->time_ns;
	return OP_MIN(time_ns - p->time_ns, p->duration_ns) + p->time_ns;
}

/* There is a value for each time, or none, or a sum, which the first time gets. */
int op_times_add(struct op_collect *c, const struct otlp_profiles *p,
		 const struct otlp_sample_view *v, uint32_t stack)
{
	const struct op_collect_stack *s = &c->stacks.data[stack];
	struct otlp_range values = v->sample->values;
	uint32_t times = v->sample->timestamps.len, i;
	int64_t each = period_of(c, &c->kinds.data[s->kind], v);
	struct op_times_entry e = { v->profile->time_ns, scaled(v->value, each), stack,
				    OP_TIMES_NONE, OP_TIMES_NONE };
	int r = add_window(c->times, v->profile);

	c->times->stacks_len = c->stacks.len;
	/* a state has no time */
	if (r || c->times->full || s->moment != OP_MOMENT_NONE)
		return r;
	r = find_thread(c, v, s->process, &e.thread);
	if (!r)
		r = find_trace(c, p, v->sample->link, &e.trace);
	if (!r && !times) {
		c->times->summed[s->kind] = true;
		return push(c->times, e);
	}
	for (i = 0; !r && i < times; i++) {
		e.tick = within(v->profile, v->timestamps[i]);
		if (!values.len)
			e.value = each;
		else if (values.len == times)
			e.value = scaled(p->values.data[values.first + i], each);
		else
			e.value = i ? 0 : scaled(v->value, each);
		r = push(c->times, e);
	}
	return r;
}

void op_times_renumber(struct op_times *t, const uint32_t *numbers, size_t stacks_len)
{
	struct op_times_entry *e;
	size_t kept = 0;

	op_vec_foreach(e, &t->entries) {
		if (numbers[e->stack] == UINT32_MAX)
			continue;
		t->entries.data[kept] = *e;
		t->entries.data[kept++].stack = numbers[e->stack];
	}
	t->entries.len = kept;
	t->stacks_len = stacks_len;
}

int op_times_add_hosts(struct op_collect *c, const struct otlp_profiles *p)
{
	uint32_t i, host;
	int r = 0;

	for (i = 0; !r && i < p->resource_attributes.len; i++) {
		const struct otlp_attribute *a = &p->resource_attributes.data[i];

		if (!otlp_text_is(otlp_attribute_key(p, a), "host.name"))
			continue;
		r = op_strings_add(&c->strings, otlp_attribute_text(p, a), &host);
		if (!r && !c->host)
			c->host = host;
		else if (!r && host != c->host)
			c->hosts_differ = true;
	}
	return r;
}
