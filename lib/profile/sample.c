/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a window. Those that OTLP merges into one share an identity. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "profile/window_tables.h"

/* The members that make two samples equal; packed, without padding. */
struct identity_key {
	uint32_t fixed[12];
	struct op_attribute_set labels;
};

static bool identity_equal(const void *elements, uint32_t i, const void *key)
{
	const struct op_window *w = elements;
	const struct op_identity *e = &w->identities.data[i];
	const struct identity_key *k = key;
	const uint32_t fixed[] = { e->resource, e->event, e->stack, e->tid,
				   e->comm,	e->cpu,	  e->link,  e->period_ns,
				   e->type,	e->unit,  e->alone, e->hits };

	_Static_assert(sizeof(fixed) == sizeof(k->fixed), "same fields");
	return !memcmp(fixed, k->fixed, sizeof(fixed)) &&
	       e->labels.len == k->labels.len &&
	       (!k->labels.len ||
		!memcmp(op_window_numbers(w, e->labels), k->labels.index,
			k->labels.len * sizeof(k->labels.index[0])));
}

/* Remove labels with a key that the sample already has as an attribute of its own. */
static void labels_clean(const struct op_window *w, const struct op_attribute_set *in,
			 struct op_attribute_set *ret)
{
	struct op_attribute_set kept = { 0 };
	uint32_t i;

	assert(in->len <= OP_ATTRIBUTES_MAX);
	for (i = 0; i < in->len; i++) {
		assert(in->index[i] < w->attributes.len);
		if (w->attributes.data[in->index[i]].key >= OP_STRINGS_FIXED)
			kept.index[kept.len++] = in->index[i];
	}
	op_window_clean_set(w, &kept, ret);
}

/* Make the attributes of a new identity: at most OP_SAMPLE_ATTRIBUTES_MAX in @ret. */
static int identity_attributes(struct op_window *w, const struct op_window_sample *s,
			       const struct op_attribute_set *labels, uint32_t *ret,
			       uint32_t *ret_len)
{
	struct op_attribute tid = { .key = OP_STRING_THREAD_ID,
				    .integer = s->tid,
				    .is_int = 1 };
	struct op_attribute cpu = { .key = OP_STRING_CPU,
				    .integer = s->cpu,
				    .is_int = 1 };
	struct op_attribute comm = { .key = OP_STRING_THREAD_NAME, .string = s->comm };
	bool of_thread = s->cpu != (uint32_t)OP_WINDOW_NO_THREAD;
	uint32_t len = 0;
	int r = 0;

	if (of_thread)
		r = op_window_attribute(w, &tid, &ret[len++]);
	if (r >= 0 && s->comm)
		r = op_window_attribute(w, &comm, &ret[len++]);
	if (r >= 0 && of_thread)
		r = op_window_attribute(w, &cpu, &ret[len++]);
	if (r < 0)
		return r;
	memcpy(ret + len, labels->index, labels->len * sizeof(*ret));
	*ret_len = len + labels->len;
	return 0;
}

static int identity_add(struct op_window *w, const struct op_window_sample *s,
			const struct op_attribute_set *labels, uint32_t hash,
			uint32_t *ret)
{
	uint32_t list[OP_SAMPLE_ATTRIBUTES_MAX];
	uint32_t number = (uint32_t)w->identities.len;
	uint32_t at;
	uint32_t len;
	int r;

	assert(s->resource < w->resources.len && s->stack < w->stacks.len);
	assert(s->comm < w->strings.len && s->link < w->links.len);
	assert(s->event < OP_EVENT_MAX);
	assert(s->type < w->strings.len && s->unit < w->strings.len);
	r = identity_attributes(w, s, labels, list, &len);
	if (r >= 0)
		r = op_window_reserve(w, &w->identities, 1);
	if (r >= 0)
		r = op_window_reserve(w, &w->numbers, len);
	if (r >= 0)
		r = op_window_index_add(w, OP_TABLE_IDENTITY, hash, number);
	if (r < 0)
		return r;
	at = (uint32_t)w->numbers.len;
	if (len)
		memcpy(w->numbers.data + at, list, len * sizeof(*list));
	w->numbers.len += len;
	w->identities.data[w->identities.len++] = (struct op_identity){
		.resource = s->resource,
		.event = s->event,
		.stack = s->stack,
		.tid = s->tid,
		.comm = s->comm,
		.cpu = s->cpu,
		.link = s->link,
		.period_ns = s->period_ns,
		.type = s->type,
		.unit = s->unit,
		.alone = s->alone,
		.hits = s->hits,
		/* The labels are the last of the attributes. */
		.labels = { at + len - labels->len, labels->len },
		.attributes = { at, len },
		.first = OP_TAKEN_END,
		.last = OP_TAKEN_END,
	};
	*ret = number;
	return 0;
}

int op_window_add(struct op_window *w, const struct op_window_sample *s)
{
	struct identity_key key = {
		.fixed = { s->resource, s->event, s->stack, s->tid, s->comm, s->cpu,
			   s->link, s->period_ns, s->type, s->unit, s->alone, s->hits },
	};
	uint32_t at = (uint32_t)w->taken.len;
	struct op_identity *e;
	uint32_t number;
	uint32_t hash;
	int r;

	/* Reserve first, so that an identity always has a sample. */
	r = op_window_reserve(w, &w->taken, 1);
	if (r < 0)
		return r;
	if (s->labels.len)
		labels_clean(w, &s->labels, &key.labels);
	hash = op_window_hash(w, key.fixed, sizeof(key.fixed), key.labels.index,
			      key.labels.len);
	number = op_index_find(&w->index[OP_TABLE_IDENTITY], hash, w, &key,
			       identity_equal);
	if (number == UINT32_MAX) {
		r = identity_add(w, s, &key.labels, hash, &number);
		if (r < 0)
			return r;
	}
	w->taken.data[w->taken.len++] = (struct op_taken){
		.time_ns = s->time_ns,
		.value = s->value,
		.next = OP_TAKEN_END,
		.count = s->count > 0 ? (float)s->count : 1,
	};
	e = &w->identities.data[number];
	e->several |= s->count > 1;
	if (e->count++)
		w->taken.data[e->last].next = at;
	else
		e->first = at;
	e->last = at;
	return 0;
}
