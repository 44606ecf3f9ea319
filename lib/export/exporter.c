/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a handle's exporters, and the calls that go to all of them. */
#include "export/exporter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/vec.h"
#include "export/notes.h"
#include "export/request.h"
#include "export/sink.h"

enum {
	NS_PER_MS = 1000000
};

struct op_exporters {
	struct op_log *log;
	struct op_shared *shared;
	OP_VEC(struct op_sink *) sinks;
	uint32_t last; /* last number given to an exporter */
	bool forked;
};

int op_exporters_new(struct op_log *log, struct op_exporters **ret)
{
	_cleanup_free_ struct op_exporters *x = NULL;
	int err;

	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->log = log;
	err = op_shared_new(log && log->fn ? log->level : -1, &x->shared);
	if (err < 0)
		return err;
	*ret = OP_TAKE_PTR(x);
	return 0;
}

struct op_exporters *op_exporters_free(struct op_exporters *x)
{
	struct op_sink **s;

	if (!x)
		return NULL;
	op_vec_foreach(s, &x->sinks)
		(*s)->ops->free(*s);
	op_vec_clear(&x->sinks);
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

static struct op_sink new_base(struct op_exporters *x)
{
	return (struct op_sink){
		.number = x->last + 1,
		.shared = x->shared,
		.ledger = &x->shared->ledger,
		.account.ledger = &x->shared->ledger,
		.notes = &x->shared->notes,
		.log = x->log,
	};
}

/* The place for the next sink, reserved before the sink is made. NULL: no memory. */
static struct op_sink **next_place(struct op_exporters *x)
{
	return op_vec_reserve(&x->sinks, 1) ? NULL : &x->sinks.data[x->sinks.len];
}

/* Keep the sink that was made in the reserved place, unless @err is an error. */
static int keep(struct op_exporters *x, int err)
{
	if (err < 0)
		return err;
	x->sinks.len++;
	return (int)++x->last;
}

int op_exporters_add_otlp(struct op_exporters *x,
			  const struct otelprof_otlp_config *config)
{
	struct op_sink base = new_base(x);
	struct op_sink **place = next_place(x);

	return place ? keep(x, op_sink_new_otlp(&base, config, place)) : -ENOMEM;
}

int op_exporters_add_file(struct op_exporters *x,
			  const struct otelprof_file_config *config)
{
	struct op_sink base = new_base(x);
	struct op_sink **place = next_place(x);

	return place ? keep(x, op_sink_new_file(&base, config, place)) : -ENOMEM;
}

int op_exporters_add_callback(struct op_exporters *x,
			      const struct otelprof_callback_config *config)
{
	struct op_sink base = new_base(x);
	struct op_sink **place = next_place(x);

	return place ? keep(x, op_sink_new_callback(&base, config, place)) : -ENOMEM;
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
	struct op_request *r = NULL;
	struct op_sink **s;
	int err;

	op_notes_emit(&x->shared->notes, x->log);
	if (!x->sinks.len) {
		free(bytes);
		op_ledger_drop(&x->shared->ledger, samples, OP_DROP_NOWHERE);
		return 0;
	}
	err = op_request_new(&x->shared->ledger, bytes, len, samples,
			     (uint32_t)x->sinks.len, &r);
	if (err < 0)
		return err;
	/* @r exists until the last exporter has decided, so it is valid in each round of
	 * the loop. */
	op_vec_foreach(s, &x->sinks) {
		op_account_hand(&(*s)->account, r);
		if (len > (*s)->max_request)
			op_request_settle(&(*s)->account, r, OP_DROP_ENCODE);
		else
			(*s)->ops->submit(*s, r);
	}
	return 0;
}

static uint64_t deadline_of(int timeout_ms)
{
	if (timeout_ms < 0)
		return UINT64_MAX;
	return op_clock_monotonic_ns() + (uint64_t)timeout_ms * NS_PER_MS;
}

static struct op_sink **find(struct op_exporters *x, uint32_t number)
{
	struct op_sink **s;

	op_vec_foreach(s, &x->sinks)
		if ((*s)->number == number)
			return s;
	return NULL;
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
	gone->ops->free(gone);
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
	int err;

	if (number && !find(x, number))
		return -ENOENT;
	/* Flush every exporter, even if one before failed. */
	op_vec_foreach(s, &x->sinks) {
		if (number && (*s)->number != number)
			continue;
		err = (*s)->ops->flush(*s, deadline);
		/* An exporter reports an error only once, but a timeout again and again:
		 * prefer the error. */
		if (err < 0 && (!first || first == -ETIMEDOUT))
			first = err;
	}
	op_notes_emit(&x->shared->notes, x->log);
	return first;
}

void op_exporters_abandon(struct op_exporters *x)
{
	struct op_sink **s;

	op_vec_foreach(s, &x->sinks) {
		if ((*s)->ops->abandon)
			(*s)->ops->abandon(*s);
	}
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
