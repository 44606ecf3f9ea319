/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a request: opens and closes resources and profiles, and adds samples while they
 * fit. */
#include "profile/otlp/otlp_request.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "profiles_service.pb.h"

static const char SCHEMA_URL[] = "https://opentelemetry.io/schemas/1.44.0";

enum {
	PROFILE_ID_BYTES = 16,
	/* The fields of a Profile except its samples. */
	PROFILE_BYTES = 2 * (OP_FIELD_BYTES + otlp_ValueType_size) + 9 +
			2 * (OP_TAG_BYTES + OP_INT64_BYTES) + OP_FIELD_BYTES +
			PROFILE_ID_BYTES + OP_FIELD_BYTES + 2 * OP_INT32_BYTES,
	/* Tags and lengths of an open profile, scope and resource, and of the
	 * dictionary, and two URLs. */
	ENVELOPE_BYTES = PROFILE_BYTES + 6 * OP_FIELD_BYTES + 2 * sizeof(SCHEMA_URL),
};

int op_otlp_request_init(struct op_otlp_request *q, const struct op_window *w,
			 const struct op_otlp_options *options)
{
	otlp_InstrumentationScope scope = otlp_InstrumentationScope_init_zero;
	const struct op_identity *e;
	char name[] = "otelprof";
	int r;

	memset(q, 0, sizeof(*q));
	q->w = w;
	q->options = options;
	op_vec_foreach(e, &w->identities)
		q->kept[e->event] += e->count;
	scope.name = name;
	scope.version = (char *)(uintptr_t)options->version;
	r = op_bytes_any_message(&q->scope, otlp_ScopeProfiles_scope_tag,
				 &otlp_InstrumentationScope_msg, &scope);
	if (r >= 0)
		r = op_dictionary_init(&q->dictionary, w);
	if (r >= 0)
		r = op_dictionary_begin(&q->dictionary);
	return r;
}

void op_otlp_request_deinit(struct op_otlp_request *q)
{
	op_dictionary_deinit(&q->dictionary);
	op_vec_clear(&q->body);
	op_vec_clear(&q->scope);
	op_vec_clear(&q->resource);
	op_vec_clear(&q->profiles);
	op_vec_clear(&q->samples);
	op_vec_clear(&q->values);
	op_vec_clear(&q->times);
}

static void random_id(uint8_t *ret)
{
	uint64_t seed[2];

	if (getrandom(ret, PROFILE_ID_BYTES, GRND_NONBLOCK) == PROFILE_ID_BYTES)
		return;
	seed[0] = op_hash_seed() | 1; /* an id must not be all zero */
	seed[1] = op_hash_seed();
	memcpy(ret, seed, sizeof(seed));
}

/* Append the open profile to the finished ones. */
static int profile_write(struct op_otlp_request *q)
{
	struct {
		pb_size_t size;
		pb_byte_t bytes[PROFILE_ID_BYTES];
	} id = { .size = PROFILE_ID_BYTES };
	otlp_Profile m = {
		.has_sample_type = true,
		.sample_type = q->type,
		.time_unix_nano = q->start_ns,
		.duration_nano = q->end_ns - q->start_ns,
		/* an empty type if there is none, because Parca expects one */
		.has_period_type = true,
		.period_type = q->period_type,
		.profile_id = (pb_bytes_array_t *)&id,
		.attribute_indices = q->profile_attributes,
		.attribute_indices_count = (pb_size_t)q->profile_attributes_len,
	};
	uint8_t fields[PROFILE_BYTES];
	/* the buffer is on the stack and never grows */
	struct op_bytes b = { fields, 0, sizeof(fields) };
	int r;

	if (q->kind->period == OP_OTLP_PERIOD_WINDOW)
		m.period = (int64_t)(q->period_ns ?: q->w->config.period_ns);
	else if (q->kind->period == OP_OTLP_PERIOD_ONE)
		m.period = 1;
	else if (q->kind->period == OP_OTLP_PERIOD_EVENTS)
		m.period = (int64_t)q->period_ns;
	random_id(id.bytes);
	r = op_bytes_plain(&b, &otlp_Profile_msg, &m, PROFILE_BYTES);
	if (r >= 0)
		r = op_bytes_head(&q->profiles, otlp_ScopeProfiles_profiles_tag,
				  b.len + q->samples.len);
	if (r >= 0)
		r = op_bytes_add(&q->profiles, b.data, b.len);
	if (r >= 0)
		r = op_bytes_add(&q->profiles, q->samples.data, q->samples.len);
	return r;
}

static int profile_close(struct op_otlp_request *q)
{
	int r;

	if (!q->profile_open)
		return 0;
	r = profile_write(q);
	if (r < 0)
		return r;
	q->samples.len = 0;
	q->profile_samples = 0;
	q->profile_open = false;
	return 0;
}

static size_t head_bytes(size_t len)
{
	size_t n = OP_TAG_BYTES + 1;

	while (len >>= 7)
		n++;
	return n;
}

/* Append the open resource to the finished ones. */
static int resource_close(struct op_otlp_request *q)
{
	const size_t url = strlen(SCHEMA_URL);
	size_t scope_len;
	size_t len;
	int r = profile_close(q);

	if (r < 0 || !q->profiles.len)
		return r;
	scope_len = q->scope.len + q->profiles.len + head_bytes(url) + url;
	len = q->resource.len + head_bytes(scope_len) + scope_len + head_bytes(url) + url;
	r = op_bytes_head(&q->body,
			  otlp_ExportProfilesServiceRequest_resource_profiles_tag, len);
	if (r >= 0)
		r = op_bytes_add(&q->body, q->resource.data, q->resource.len);
	if (r >= 0)
		r = op_bytes_head(&q->body, otlp_ResourceProfiles_scope_profiles_tag,
				  scope_len);
	if (r >= 0)
		r = op_bytes_add(&q->body, q->scope.data, q->scope.len);
	if (r >= 0)
		r = op_bytes_add(&q->body, q->profiles.data, q->profiles.len);
	if (r >= 0)
		r = op_bytes_field(&q->body, otlp_ScopeProfiles_schema_url_tag,
				   SCHEMA_URL, url);
	if (r >= 0)
		r = op_bytes_field(&q->body, otlp_ResourceProfiles_schema_url_tag,
				   SCHEMA_URL, url);
	if (r < 0)
		return r;
	q->profiles.len = 0;
	q->resources++;
	return 0;
}

int op_otlp_request_resource(struct op_otlp_request *q, uint32_t resource)
{
	int r = resource_close(q);

	if (r < 0)
		return r;
	q->resource.len = 0;
	return op_otlp_resource(q->w, &q->w->resources.data[resource], q->options,
				otlp_ResourceProfiles_resource_tag, &q->resource);
}

int op_otlp_request_profile(struct op_otlp_request *q, const struct op_otlp_kind *kind,
			    uint32_t period_ns)
{
	int r = profile_close(q);

	q->kind = kind;
	q->period_ns = period_ns;
	return r;
}

bool op_otlp_request_empty(const struct op_otlp_request *q)
{
	return !q->body.len && !q->profiles.len && !q->samples.len;
}

/* A profile of a kind that lost samples has their number. */
static int profile_lost(struct op_otlp_request *q)
{
	struct op_dictionary *d = &q->dictionary;
	uint64_t lost = q->options->lost ? q->options->lost[q->kind->event] : 0;
	uint64_t taken = lost + q->kept[q->kind->event];
	int r;

	q->profile_attributes_len = 0;
	if (!lost)
		return 0;
	r = op_dictionary_ref(
		d, OP_TABLE_ATTRIBUTE,
		op_dictionary_attribute(d, "otelprof.window.samples_lost", (int64_t)lost),
		&q->profile_attributes[0]);
	if (r >= 0)
		r = op_dictionary_ref(
			d, OP_TABLE_ATTRIBUTE,
			op_dictionary_attribute(d, "otelprof.window.samples_taken",
						(int64_t)taken),
			&q->profile_attributes[1]);
	if (r >= 0)
		q->profile_attributes_len = 2;
	return r;
}

/* Add the strings of the profile that is opened to the dictionary. */
static int profile_types(struct op_otlp_request *q)
{
	struct op_dictionary *d = &q->dictionary;
	const struct op_otlp_kind *k = q->kind;
	int r = profile_lost(q);

	if (r >= 0)
		r = op_dictionary_ref(d, OP_TABLE_STRING,
				      op_dictionary_string(d, k->type),
				      &q->type.type_strindex);
	if (r >= 0)
		r = op_dictionary_ref(d, OP_TABLE_STRING,
				      op_dictionary_string(d, k->unit),
				      &q->type.unit_strindex);
	q->period_type = (otlp_ValueType)otlp_ValueType_init_zero;
	if (r < 0 || k->period == OP_OTLP_PERIOD_NONE)
		return r;
	r = op_dictionary_ref(d, OP_TABLE_STRING, op_dictionary_string(d, k->period_type),
			      &q->period_type.type_strindex);
	if (r >= 0)
		r = op_dictionary_ref(d, OP_TABLE_STRING,
				      op_dictionary_string(d, k->period_unit),
				      &q->period_type.unit_strindex);
	return r;
}

/* An upper bound of the request's present size. */
static size_t bytes_so_far(const struct op_otlp_request *q)
{
	return q->body.len + q->resource.len + q->scope.len + q->profiles.len +
	       q->samples.len + op_dictionary_bytes(&q->dictionary) + ENVELOPE_BYTES;
}

/* Does each sample have a value beside its time? Events have one if one of them stands
 * for several. */
static bool has_values(const struct op_otlp_request *q, const struct op_identity *e)
{
	return q->kind->shape == OP_OTLP_TIMES_VALUES ||
	       (q->kind->shape == OP_OTLP_TIMES && e->several);
}

/* How many of @left samples of @e fit? */
static uint64_t fitting(const struct op_otlp_request *q, const struct op_identity *e,
			size_t fixed, uint64_t left)
{
	size_t used = bytes_so_far(q) + fixed;
	size_t room;
	size_t each = sizeof(uint64_t);

	if (q->kind->shape == OP_OTLP_SUM || q->kind->shape == OP_OTLP_COUNT)
		return used + OP_INT64_BYTES < q->max_bytes ? left : 0;
	if (has_values(q, e))
		each += OP_INT64_BYTES;
	if (used >= q->max_bytes)
		return 0;
	room = (q->max_bytes - 1 - used) / each;
	if (room > OP_OTLP_LIST_MAX)
		room = OP_OTLP_LIST_MAX;
	return left < room ? left : room;
}

/* The part of a value that this row reports. */
static int64_t part_of(const struct op_otlp_kind *kind, int64_t value)
{
	uint64_t part = (uint64_t)value >> kind->shift;

	if (kind->part)
		return (int64_t)kind->part((uint64_t)value);
	if (kind->mask)
		part &= kind->mask;
	return (int64_t)(part * (kind->scale ? kind->scale : 1));
}

/* Collect values and times of @n samples of @e from *@at on. */
static int collect(struct op_otlp_request *q, const struct op_identity *e, uint32_t *at,
		   uint64_t n)
{
	const enum op_otlp_shape shape = q->kind->shape;
	bool values = has_values(q, e);
	uint32_t hits = e->hits ? e->hits : 1;
	uint64_t sum = 0;
	double count = 0;
	uint64_t i;

	q->values.len = 0;
	q->times.len = 0;
	if (shape == OP_OTLP_TIMES || shape == OP_OTLP_TIMES_VALUES)
		if (op_vec_reserve(&q->times, n))
			return -ENOMEM;
	if (op_vec_reserve(&q->values, values ? n : 1))
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		const struct op_taken *t = &q->w->taken.data[*at];

		if (shape == OP_OTLP_TIMES || shape == OP_OTLP_TIMES_VALUES)
			q->times.data[q->times.len++] = t->time_ns;
		if (values)
			q->values.data[q->values.len++] =
				shape == OP_OTLP_TIMES ? (int64_t)((double)t->count + 0.5)
						       : part_of(q->kind, t->value);
		sum += (uint64_t)part_of(q->kind, t->value) * hits;
		count += (double)t->count * hits;
		*at = t->next;
	}
	if (shape == OP_OTLP_SUM)
		q->values.data[q->values.len++] = (int64_t)sum;
	else if (shape == OP_OTLP_COUNT)
		q->values.data[q->values.len++] = (int64_t)(count + 0.5);
	return 0;
}

/* The part of op_otlp_request_add() that may leave entries in the dictionary when it fails. */
static int64_t try_add(struct op_otlp_request *q, const struct op_identity *e,
		       uint32_t *at, uint64_t left)
{
	struct op_dictionary *d = &q->dictionary;
	otlp_Sample m = otlp_Sample_init_zero;
	size_t fixed = 2 * (OP_TAG_BYTES + OP_INT32_BYTES) + 4 * OP_FIELD_BYTES +
		       OP_INT32_BYTES * e->attributes.len;
	uint64_t n;
	int r = 0;

	if (!q->profile_open)
		r = profile_types(q);
	if (r >= 0)
		r = op_dictionary_ref(d, OP_TABLE_STACK, e->stack, &m.stack_index);
	if (r >= 0)
		r = op_dictionary_ref(d, OP_TABLE_LINK, e->link, &m.link_index);
	if (r >= 0)
		r = op_dictionary_refs(d, OP_TABLE_ATTRIBUTE,
				       op_window_numbers(q->w, e->attributes),
				       e->attributes.len, q->attributes);
	if (r < 0)
		return r;
	n = fitting(q, e, fixed, left);
	if (!n)
		return -ENOSPC;
	r = collect(q, e, at, n);
	if (r < 0)
		return r;
	m.attribute_indices = q->attributes;
	m.attribute_indices_count = (pb_size_t)e->attributes.len;
	m.values = q->values.data;
	m.values_count = (pb_size_t)q->values.len;
	m.timestamps_unix_nano = q->times.data;
	m.timestamps_unix_nano_count = (pb_size_t)q->times.len;
	r = op_bytes_message(&q->samples, otlp_Profile_samples_tag, &otlp_Sample_msg, &m,
			     fixed + q->values.len * OP_INT64_BYTES +
				     q->times.len * sizeof(uint64_t));
	if (r < 0)
		return r;
	q->profile_open = true;
	q->profile_samples++;
	return (int64_t)n;
}

int64_t op_otlp_request_add(struct op_otlp_request *q, const struct op_identity *e,
			    uint32_t *at, uint64_t left)
{
	struct op_dictionary_mark mark;
	uint32_t next = *at;
	int64_t n;

	if (q->profile_samples >= OP_OTLP_PROFILE_SAMPLES_MAX) {
		int r = profile_close(q);

		if (r < 0)
			return r;
	}
	if (q->resources >= OP_OTLP_LIST_MAX)
		return -ENOSPC;
	op_dictionary_mark(&q->dictionary, &mark);
	n = try_add(q, e, &next, left);
	if (n < 0) {
		op_dictionary_rollback(&q->dictionary, &mark);
		return n;
	}
	*at = next;
	/* The rest must not become a second sample with the same identity in this
	 * profile. */
	if ((uint64_t)n < left) {
		int r = profile_close(q);

		if (r < 0)
			return r;
	}
	return n;
}

int op_otlp_request_finish(struct op_otlp_request *q, void **ret, size_t *ret_len,
			   uint64_t *ret_samples)
{
	struct op_bytes out = { 0 };
	size_t dictionary = op_dictionary_bytes(&q->dictionary);
	int r = resource_close(q);

	if (r >= 0 && op_vec_reserve(&out, q->body.len + OP_FIELD_BYTES + dictionary))
		r = -ENOMEM;
	if (r >= 0)
		r = op_bytes_add(&out, q->body.data, q->body.len);
	if (r >= 0)
		r = op_bytes_head(&out, otlp_ExportProfilesServiceRequest_dictionary_tag,
				  dictionary);
	if (r >= 0)
		r = op_dictionary_put(&q->dictionary, &out);
	q->body.len = 0;
	q->resources = 0;
	if (r >= 0)
		r = op_dictionary_begin(&q->dictionary);
	if (r < 0) {
		op_vec_clear(&out);
		return r;
	}
	*ret = out.data;
	*ret_len = out.len;
	*ret_samples = q->taken;
	q->taken = 0;
	return 0;
}
