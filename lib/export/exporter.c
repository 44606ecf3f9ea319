/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a handle's exporters, and the calls that go to all of them. */
#include "export/exporter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/macros.h"
#include "base/vec.h"
#include "export/sink/notes.h"
#include "export/sink/thread.h"
#include "export/sinks.h"

struct op_exporters {
	struct op_log *log;
	struct op_exporters_lock lock;
	struct op_shared *shared;
	OP_VEC(struct op_sink *) sinks;
	uint32_t last; /* last number given to an exporter */
	bool forked;
};

int op_exporters_new(struct op_log *log, struct op_exporters **ret)
{
	_cleanup_free_ struct op_exporters *x = NULL;
	int r;

	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->log = log;
	r = op_shared_new(log && log->fn ? log->level : -1, &x->shared);
	if (r < 0)
		return r;
	*ret = OP_TAKE_PTR(x);
	return 0;
}

void op_exporters_set_lock(struct op_exporters *x, const struct op_exporters_lock *lock)
{
	x->lock = *lock;
}

static void leave(const struct op_exporters *x)
{
	if (x->lock.leave)
		x->lock.leave(x->lock.owner);
}

static void enter(const struct op_exporters *x)
{
	if (x->lock.enter)
		x->lock.enter(x->lock.owner);
}

/* The function of a sink that a thread runs. */
struct ending {
	struct op_sink *sink;
	void (*end)(struct op_sink *s);
	pthread_t thread;
	bool runs;
};

static void *end_main(void *arg)
{
	struct ending *e = arg;

	e->end(e->sink);
	return NULL;
}

/* Each sink may wait for a disk. They wait at the same time, so that the end takes as
 * long as that of one. Without memory or threads they wait one after another. */
static void end_all(struct ending *e, size_t len)
{
	size_t i;

	for (i = 0; i + 1 < len; i++)
		e[i].runs = !op_sink_thread_start(&e[i].thread, "otelprof-end", end_main,
						  &e[i]);
	for (i = 0; i < len; i++)
		if (!e[i].runs)
			e[i].end(e[i].sink);
	for (i = 0; i < len; i++)
		if (e[i].runs)
			(void)pthread_join(e[i].thread, NULL);
}

static void free_sinks(struct op_exporters *x)
{
	_cleanup_free_ struct ending *e =
		x->forked ? NULL : calloc(x->sinks.len + 1, sizeof(*e));
	size_t i;

	for (i = 0; i < x->sinks.len; i++) {
		struct op_sink *s = x->sinks.data[i];

		if (e)
			e[i] = (struct ending){ .sink = s, .end = s->ops->free };
		else
			s->ops->free(s);
	}
	if (e)
		end_all(e, x->sinks.len);
	op_vec_clear(&x->sinks);
}

struct op_exporters *op_exporters_free(struct op_exporters *x)
{
	if (!x)
		return NULL;
	free_sinks(x);
	if (!x->forked) {
		/* In a forked child the locks may be held by a thread that does not exist
		 * there. */
		op_notes_emit(&x->shared->notes, x->log);
		(void)op_shared_unref(x->shared);
	} else {
		free(x->shared);
	}
	free(x);
	return NULL;
}

/* A sink under construction, with a log of its own: the owner's needs the lock. */
struct making {
	struct op_sink base;
	struct op_log log;
	struct op_sink *sink;
};

static void note_line(void *userdata, int level, const char *message)
{
	op_notes_add(userdata, (enum op_log_level)level, "%s", message);
}

static void begin(struct op_exporters *x, struct making *m)
{
	*m = (struct making){
		.base = { .shared = x->shared,
			  .ledger = &x->shared->ledger,
			  .account.ledger = &x->shared->ledger,
			  .notes = &x->shared->notes,
			  .log = &m->log },
		.log = { .fn = note_line,
			 .userdata = &x->shared->notes,
			 .level = x->shared->notes.level },
	};
	leave(x);
}

/* Keep the new sink, unless @err is an error. Returns its number or -errno. */
static int keep(struct op_exporters *x, struct making *m, int r)
{
	struct op_sink **place = NULL;

	enter(x);
	op_fail_pass(x->log, &m->log);
	op_log_deinit(&m->log);
	op_notes_emit(&x->shared->notes, x->log);
	if (r < 0)
		return r;
	place = op_vec_push(&x->sinks);
	if (!place) {
		leave(x);
		m->sink->ops->free(m->sink);
		enter(x);
		return -ENOMEM;
	}
	*place = m->sink;
	m->sink->log = x->log;
	m->sink->number = ++x->last;
	return (int)m->sink->number;
}

int op_exporters_add_otlp(struct op_exporters *x,
			  const struct otelprof_otlp_config *config)
{
	struct making m;

	begin(x, &m);
	return keep(x, &m, op_sink_new_otlp(&m.base, config, &m.sink));
}

int op_exporters_add_file(struct op_exporters *x,
			  const struct otelprof_file_config *config)
{
	struct making m;

	begin(x, &m);
	return keep(x, &m, op_sink_new_file(&m.base, config, &m.sink));
}

int op_exporters_add_callback(struct op_exporters *x,
			      const struct otelprof_callback_config *config)
{
	struct making m;

	begin(x, &m);
	return keep(x, &m, op_sink_new_callback(&m.base, config, &m.sink));
}

size_t op_exporters_len(const struct op_exporters *x)
{
	return x->sinks.len;
}

size_t op_exporters_max_request(const struct op_exporters *x)
{
	uint64_t least = OP_REQUEST_BYTES_MAX;
	struct op_sink **s;

	if (!x->sinks.len)
		return OP_REQUEST_BYTES_DEFAULT;
	op_vec_foreach(s, &x->sinks)
		least = OP_MIN(least, (*s)->max_request);
	return least;
}

int op_exporters_submit(struct op_exporters *x, void *bytes, size_t len, uint64_t samples)
{
	struct op_request *request = NULL;
	struct op_sink **s;
	int r;

	op_notes_emit(&x->shared->notes, x->log);
	if (!x->sinks.len) {
		free(bytes);
		op_ledger_drop(&x->shared->ledger, samples, OP_DROP_NOWHERE);
		return 0;
	}
	r = op_request_new(&x->shared->ledger, bytes, len, samples,
			   (uint32_t)x->sinks.len, &request);
	if (r < 0)
		return r;
	/* @request exists until the last exporter has decided, so it is valid in each round of
	 * the loop. */
	op_vec_foreach(s, &x->sinks) {
		op_account_hand(&(*s)->account, request);
		if (len > (*s)->max_request)
			op_request_settle(&(*s)->account, request, OP_DROP_ENCODE);
		else
			(*s)->ops->submit(*s, request);
	}
	return 0;
}

static uint64_t deadline_of(int timeout_ms)
{
	if (timeout_ms < 0)
		return UINT64_MAX;
	return op_clock_monotonic_ns() + (uint64_t)timeout_ms * OP_NS_PER_MS;
}

static struct op_sink **find(struct op_exporters *x, uint32_t number)
{
	struct op_sink **s;

	op_vec_foreach(s, &x->sinks)
		if ((*s)->number == number)
			return s;
	return NULL;
}

/* A sink that is no longer in the list. */
static void free_sink(struct op_exporters *x, struct op_sink *s)
{
	leave(x);
	s->ops->free(s);
	enter(x);
}

int op_exporters_remove(struct op_exporters *x, uint32_t number)
{
	struct op_sink **s = find(x, number);
	struct op_sink *gone;

	if (!s)
		return -ENOENT;
	gone = *s;
	memmove(s, s + 1, (size_t)(&x->sinks.data[x->sinks.len] - s - 1) * sizeof(*s));
	x->sinks.len--;
	gone->removed = true;
	if (!gone->finishing)
		free_sink(x, gone);
	op_notes_emit(&x->shared->notes, x->log);
	return 0;
}

int op_exporters_get_one(struct op_exporters *x, uint32_t number,
			 struct op_account_stats *ret)
{
	struct op_sink **s = find(x, number);

	if (!s)
		return -ENOENT;
	op_account_get_stats(&(*s)->account, ret);
	return 0;
}

void op_exporters_hurry(struct op_exporters *x, uint32_t number)
{
	struct op_sink **s;

	op_vec_foreach(s, &x->sinks)
		if ((!number || (*s)->number == number) && (*s)->ops->hurry)
			(*s)->ops->hurry(*s);
}

int op_exporters_flush(struct op_exporters *x, uint32_t number, int timeout_ms)
{
	uint64_t deadline = deadline_of(timeout_ms);
	struct op_sink **s;
	int first = 0;
	int r;

	if (number && !find(x, number))
		return -ENOENT;
	/* Flush every exporter, even if one before failed. */
	op_vec_foreach(s, &x->sinks) {
		if (number && (*s)->number != number)
			continue;
		r = (*s)->finishing ? -ETIMEDOUT : (*s)->ops->flush(*s, deadline);
		/* An exporter reports an error only once, but a timeout again and again:
		 * prefer the error. */
		if (r < 0 && (!first || first == -ETIMEDOUT))
			first = r;
	}
	op_notes_emit(&x->shared->notes, x->log);
	return first;
}

/* Select the next sinks after number *@after that nobody finishes, at most @cap.
 * Returns whether there were any. */
static bool finish(struct op_exporters *x, struct ending *e, size_t cap, uint32_t *after)
{
	struct op_sink **s;
	size_t len = 0;
	size_t i;

	op_vec_foreach(s, &x->sinks) {
		if (len == cap || (*s)->number <= *after || !(*s)->ops->finish ||
		    (*s)->finishing)
			continue;
		*after = (*s)->number;
		(*s)->finishing = true;
		e[len++] = (struct ending){ .sink = *s, .end = (*s)->ops->finish };
	}
	/* others may be added and removed meanwhile */
	leave(x);
	end_all(e, len);
	enter(x);
	for (i = 0; i < len; i++) {
		e[i].sink->finishing = false;
		if (e[i].sink->removed)
			free_sink(x, e[i].sink);
	}
	return len > 0;
}

void op_exporters_abandon(struct op_exporters *x)
{
	/* others may add exporters while the lock is released, but the array stays the
	 * same */
	size_t cap = x->sinks.len;
	_cleanup_free_ struct ending *all = calloc(cap + 1, sizeof(*all));
	struct ending one;
	struct op_sink **each;
	uint32_t after = 0;

	op_vec_foreach(each, &x->sinks) {
		if ((*each)->ops->abandon)
			(*each)->ops->abandon(*each);
	}
	while (finish(x, all ?: &one, all ? cap : 1, &after))
		;
	op_notes_emit(&x->shared->notes, x->log);
}

void op_exporters_forked(struct op_exporters *x)
{
	struct op_sink **s;

	x->forked = true;
	op_vec_foreach(s, &x->sinks) {
		if ((*s)->ops->forked)
			(*s)->ops->forked(*s);
	}
}

void op_exporters_get_stats(struct op_exporters *x, struct op_exporters_stats *ret)
{
	op_notes_emit(&x->shared->notes, x->log);
	op_ledger_get_stats(&x->shared->ledger, ret);
}
