/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes a window: decides the order of its samples in requests, and where a request is
 * cut. */
#include "profile/otlp/encode.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "profile/otlp/kinds.h"
#include "profile/otlp/otlp_request.h"

enum {
	DEFAULT_MAX_BYTES = 4000000, /* gRPC servers refuse more than 4 MiB by default */
	TYPE_BYTES = 128,	     /* of the name of a type, or of its unit */
};

/* A row for a type of their own that samples name. */
struct typed_row {
	struct op_otlp_kind row;
	char type[TYPE_BYTES];
	char unit[TYPE_BYTES];
};

struct encoder {
	const struct op_window *w;
	const struct op_otlp_kinds *kinds;
	op_otlp_emit_fn emit;
	void *data;
	struct op_otlp_request request;
	OP_VEC(uint32_t) resources; /* the row with the most samples first */
	/* index in sorted at which each (resource, event) begins */
	OP_VEC(uint32_t) groups;
	OP_VEC(uint32_t) sorted; /* identities sorted by resource and event */
	/* of the open profile, and of the next one */
	struct typed_row typed[2];
	uint32_t typed_at;
	uint64_t left_out;
};

static void deinit(struct encoder *x)
{
	op_otlp_request_deinit(&x->request);
	op_vec_clear(&x->resources);
	op_vec_clear(&x->groups);
	op_vec_clear(&x->sorted);
}

static size_t group_of(const struct op_identity *e)
{
	return (size_t)e->resource * OP_EVENT_MAX + e->event;
}

/* Sort the identities by resource and event, with a stable counting sort. */
static int sort_identities(struct encoder *x)
{
	const struct op_window *w = x->w;
	size_t groups = w->resources.len * OP_EVENT_MAX;
	const struct op_identity *e;
	uint32_t begin = 0;
	size_t i;

	if (op_vec_reserve(&x->groups, groups + 1) ||
	    op_vec_reserve(&x->sorted, w->identities.len))
		return -ENOMEM;
	x->groups.len = groups + 1;
	x->sorted.len = w->identities.len;
	memset(x->groups.data, 0, x->groups.len * sizeof(x->groups.data[0]));
	op_vec_foreach(e, &w->identities)
		x->groups.data[group_of(e)]++;
	for (i = 0; i <= groups; i++) {
		uint32_t n = x->groups.data[i];

		x->groups.data[i] = begin;
		begin += n;
	}
	for (i = 0; i < w->identities.len; i++)
		x->sorted.data[x->groups.data[group_of(&w->identities.data[i])]++] =
			(uint32_t)i;
	/* Each start has moved to the group's end, which is the start of the
	 * next group. */
	memmove(x->groups.data + 1, x->groups.data, groups * sizeof(x->groups.data[0]));
	x->groups.data[0] = 0;
	return 0;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Sort resources by samples: viewers show the first profile of a request by default, so
 * that should be the busiest. */
static int sort_resources(struct encoder *x)
{
	_cleanup_free_ uint64_t *keys = NULL;
	const struct op_identity *e;
	size_t len = x->w->resources.len;
	size_t i;

	keys = calloc(len, sizeof(*keys));
	if (!keys || op_vec_reserve(&x->resources, len))
		return -ENOMEM;
	op_vec_foreach(e, &x->w->identities)
		keys[e->resource] += e->count;
	for (i = 0; i < len; i++)
		keys[i] = (UINT32_MAX - keys[i]) << 32 | i;
	qsort(keys, len, sizeof(*keys), compare_u64);
	for (i = 0; i < len; i++)
		x->resources.data[x->resources.len++] = (uint32_t)keys[i];
	return 0;
}

/* Set the time that every profile covers: as requested, but extended to hold every
 * sample. */
static void set_times(struct encoder *x, const struct op_otlp_options *options)
{
	struct op_otlp_request *q = &x->request;
	const struct op_taken *t;

	q->start_ns = options->start_ns ? options->start_ns : UINT64_MAX;
	q->end_ns = options->end_ns;
	op_vec_foreach(t, &x->w->taken) {
		if (t->time_ns < q->start_ns)
			q->start_ns = t->time_ns;
		if (t->time_ns >= q->end_ns)
			q->end_ns = t->time_ns + 1;
	}
}

static int finish(struct encoder *x)
{
	uint64_t samples;
	void *bytes;
	size_t len;
	int r;

	if (op_otlp_request_empty(&x->request))
		return 0;
	r = op_otlp_request_finish(&x->request, &bytes, &len, &samples);
	if (r < 0)
		return r;
	return x->emit(x->data, bytes, len, samples);
}

/* @counts: this row counts the samples, because no earlier row did. */
static int encode_identity(struct encoder *x, const struct op_identity *e, bool counts)
{
	uint64_t left = e->count;
	uint32_t at = e->first;

	while (left) {
		int64_t n = op_otlp_request_add(&x->request, e, &at, left);

		if (n == -ENOSPC && op_otlp_request_empty(&x->request)) {
			x->left_out += counts ? left : 0;
			return 0;
		}
		if (n == -ENOSPC) {
			int r = finish(x);

			if (r < 0)
				return r;
			continue;
		}
		if (n < 0)
			return (int)n;
		left -= (uint64_t)n;
		x->request.taken += counts ? (uint64_t)n : 0;
	}
	return 0;
}

/* Is row @i the first of its event? */
static bool row_counts(const struct op_otlp_kinds *kinds, size_t i)
{
	size_t k;

	for (k = 0; k < i; k++)
		if (kinds->rows[k].event == kinds->rows[i].event)
			return false;
	return true;
}

/* Count the samples of @resource whose event has no row. */
static void count_unknown(struct encoder *x, uint32_t resource)
{
	const uint32_t *group = x->groups.data + (size_t)resource * OP_EVENT_MAX;
	size_t row;
	uint32_t event;
	uint32_t i;

	for (event = 0; event < OP_EVENT_MAX; event++) {
		for (row = 0; row < x->kinds->len; row++)
			if (x->kinds->rows[row].event == event)
				break;
		for (i = group[event]; row == x->kinds->len && i < group[event + 1]; i++)
			x->left_out += x->w->identities.data[x->sorted.data[i]].count;
	}
}

static const struct op_identity *identity_at(const struct encoder *x, uint32_t i)
{
	return &x->w->identities.data[x->sorted.data[i]];
}

/* The shortest period above *@period of @group's samples that have one of the kind's own
 * rows. Returns false if there is none. */
static bool next_period(const struct encoder *x, const uint32_t *group, int64_t *period)
{
	int64_t least = INT64_MAX;
	uint32_t i;

	for (i = group[0]; i < group[1]; i++) {
		int64_t mine = identity_at(x, i)->period_ns;

		if (!identity_at(x, i)->alone && mine > *period && mine < least)
			least = mine;
	}
	*period = least;
	return least != INT64_MAX;
}

/* Does a row that omits zeros leave out @e? */
static bool is_nothing(const struct op_window *w, const struct op_identity *e,
		       const struct op_otlp_kind *kind)
{
	uint32_t at = e->first;
	uint64_t i;

	for (i = 0; kind->sparse && i < e->count; i++) {
		if (w->taken.data[at].value)
			return false;
		at = w->taken.data[at].next;
	}
	return kind->sparse;
}

/* Add a profile of the samples of @group with this period. */
static int encode_period(struct encoder *x, size_t row, const uint32_t *group,
			 uint32_t period_ns)
{
	bool counts = row_counts(x->kinds, row);
	uint32_t i;
	int r = op_otlp_request_profile(&x->request, &x->kinds->rows[row], period_ns);

	for (i = group[0]; i < group[1] && r >= 0; i++)
		if (!identity_at(x, i)->alone &&
		    identity_at(x, i)->period_ns == period_ns &&
		    !is_nothing(x->w, identity_at(x, i), &x->kinds->rows[row]))
			r = encode_identity(x, identity_at(x, i), counts);
	return r;
}

static int encode_group(struct encoder *x, uint32_t resource, size_t row)
{
	const struct op_otlp_kind *kind = &x->kinds->rows[row];
	const uint32_t *group =
		x->groups.data + (size_t)resource * OP_EVENT_MAX + kind->event;
	int64_t period = -1;
	int r = 0;

	/* one profile for each period, shortest first */
	while (r >= 0 && next_period(x, group, &period))
		r = encode_period(x, row, group, (uint32_t)period);
	return r;
}

/* The samples that share a profile because they name the same type. */
struct typed_key {
	uint32_t event;
	uint32_t type; /* 0: none */
	uint32_t unit;
	uint32_t period;
	uint32_t alone;
};

static struct typed_key key_of(const struct op_identity *e)
{
	return (struct typed_key){ e->event, e->type, e->unit, e->period_ns, e->alone };
}

static int compare_keys(const struct typed_key *a, const struct typed_key *b)
{
	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	if (a->period != b->period)
		return a->period < b->period ? -1 : 1;
	return (a->alone > b->alone) - (a->alone < b->alone);
}

/* The first of the identities [@from, @to) after *@key. Returns false if there is
 * none. */
static bool next_key(const struct encoder *x, uint32_t from, uint32_t to,
		     struct typed_key *key)
{
	struct typed_key least = { 0 };
	uint32_t i;

	for (i = from; i < to; i++) {
		struct typed_key mine = key_of(identity_at(x, i));

		if (mine.type && compare_keys(&mine, key) > 0 &&
		    (!least.type || compare_keys(&mine, &least) < 0))
			least = mine;
	}
	*key = least;
	return least.type != 0;
}

static void copy_text(const struct encoder *x, uint32_t string, char ret[TYPE_BYTES])
{
	size_t len =
		OP_MIN((size_t)x->w->strings.data[string].len, (size_t)TYPE_BYTES - 1);

	memcpy(ret, op_window_chars(x->w, string), len);
	ret[len] = '\0';
}

/* The row of @key. The row before it stays, because its profile may still be open. */
static const struct op_otlp_kind *typed_row(struct encoder *x,
					    const struct typed_key *key)
{
	struct typed_row *t = &x->typed[x->typed_at++ % OP_ARRAY_SIZE(x->typed)];

	copy_text(x, key->type, t->type);
	copy_text(x, key->unit, t->unit);
	t->row = (struct op_otlp_kind){
		.event = key->event,
		.shape = OP_OTLP_SUM,
		.type = t->type,
		.unit = t->unit,
		.period = key->period ? OP_OTLP_PERIOD_EVENTS : OP_OTLP_PERIOD_ONE,
		.period_type = t->type,
		.period_unit = t->unit,
	};
	return &t->row;
}

/* Add the profiles of types that samples name themselves, for the identities [@from,
 * @to). */
static int encode_typed(struct encoder *x, uint32_t from, uint32_t to)
{
	struct typed_key key = { 0 };
	uint32_t i;
	int r = 0;

	while (r >= 0 && next_key(x, from, to, &key)) {
		r = op_otlp_request_profile(&x->request, typed_row(x, &key), key.period);
		for (i = from; i < to && r >= 0; i++) {
			const struct op_identity *e = identity_at(x, i);
			struct typed_key mine = key_of(e);

			if (compare_keys(&mine, &key) == 0)
				r = encode_identity(x, e, e->alone);
		}
	}
	return r;
}

static int encode(struct encoder *x)
{
	const uint32_t *resource;
	size_t row;
	int r;

	r = sort_identities(x);
	if (r >= 0)
		r = sort_resources(x);
	if (r < 0)
		return r;
	op_vec_foreach(resource, &x->resources) {
		const uint32_t *group = x->groups.data + (size_t)*resource * OP_EVENT_MAX;

		if (group[0] == group[OP_EVENT_MAX])
			continue;
		r = op_otlp_request_resource(&x->request, *resource);
		for (row = 0; row < x->kinds->len && r >= 0; row++)
			r = encode_group(x, *resource, row);
		if (r >= 0)
			r = encode_typed(x, group[0], group[OP_EVENT_MAX]);
		if (r < 0)
			return r;
		count_unknown(x, *resource);
	}
	return finish(x);
}

static size_t max_bytes(const struct op_otlp_options *options)
{
	if (!options->max_bytes)
		return DEFAULT_MAX_BYTES;
	/* the second is protobuf's own limit */
	return OP_MIN(options->max_bytes, (size_t)INT32_MAX);
}

int op_otlp_encode_kinds(const struct op_window *w, const struct op_otlp_kinds *kinds,
			 const struct op_otlp_options *options, op_otlp_emit_fn emit,
			 void *data, uint64_t *ret_left_out)
{
	struct encoder x = { .w = w, .kinds = kinds, .emit = emit, .data = data };
	int r = 0;

	if (op_window_samples(w)) {
		r = op_otlp_request_init(&x.request, w, options);
		x.request.max_bytes = max_bytes(options);
		set_times(&x, options);
		if (r >= 0)
			r = encode(&x);
		deinit(&x);
	}
	if (r < 0)
		return r;
	*ret_left_out = x.left_out;
	return 0;
}

int op_otlp_encode(const struct op_window *w, const struct op_otlp_options *options,
		   op_otlp_emit_fn emit, void *data, uint64_t *ret_left_out)
{
	struct op_otlp_kinds kinds = { 0 };

	kinds.rows = op_rows_otlp(&kinds.len);
	return op_otlp_encode_kinds(w, &kinds, options, emit, data, ret_left_out);
}
