/* SPDX-License-Identifier: Apache-2.0 */
/* Resources, scopes, profiles and samples; and the whole request. */
#include "otlp/reader.h"

#include "walk.h"

static bool read_resource_attribute(struct walk *w, pb_istream_t *s)
{
	struct otlp_attribute *a = PUSH(w, resource_attributes);
	struct field f;

	if (!a)
		return false;
	a->raw = rest(w, s);
	while (next_field(w, s, &f)) {
		if (f.number == 1)
			(void)get_text(w, s, &f, &a->key);
		else if (f.number == 2)
			(void)get_any(w, s, &f, a);
		else if (f.number == 3)
			(void)get_i32(w, s, &f, &a->key_ref);
		else
			(void)skip(w, s, &f);
	}
	return !w->error;
}

static bool read_sample(struct walk *w, pb_istream_t *s)
{
	struct otlp_profiles *p = w->out;
	struct otlp_sample *e = PUSH(w, samples);
	struct field f;

	if (!e)
		return false;
	while (next_field(w, s, &f)) {
		if (f.number == 1)
			(void)get_i32(w, s, &f, &e->stack);
		else if (f.number == 2)
			(void)get_ints(w, s, &f, &e->attributes);
		else if (f.number == 3)
			(void)get_i32(w, s, &f, &e->link);
		else if (f.number == 4)
			(void)get_list(w, s, &f, add_value, PB_WT_VARINT, &p->values.len,
				       &e->values);
		else if (f.number == 5)
			(void)get_list(w, s, &f, add_timestamp, PB_WT_64BIT,
				       &p->timestamps.len, &e->timestamps);
		else
			(void)skip(w, s, &f);
	}
	return !w->error;
}

static bool get_value_type(struct walk *w, pb_istream_t *s, const struct field *outer,
			   int32_t *ret_type, int32_t *ret_unit)
{
	pb_istream_t sub;
	struct field f;

	if (!open_sub(w, s, outer, &sub))
		return false;
	while (next_field(w, &sub, &f)) {
		if (f.number == 1)
			(void)get_i32(w, &sub, &f, ret_type);
		else if (f.number == 2)
			(void)get_i32(w, &sub, &f, ret_unit);
		else
			(void)skip(w, &sub, &f);
	}
	return !w->error;
}

static bool read_profile_field(struct walk *w, pb_istream_t *s, const struct field *f,
			       struct otlp_profile *e)
{
	switch (f->number) {
	case 1:
		return get_value_type(w, s, f, &e->sample_type, &e->sample_unit);
	case 2:
		return get_message(w, s, f, read_sample);
	case 3:
		return get_fixed64(w, s, f, &e->time_ns);
	case 4:
		return get_u64(w, s, f, &e->duration_ns);
	case 5:
		return get_value_type(w, s, f, &e->period_type, &e->period_unit);
	case 6:
		return get_i64(w, s, f, &e->period);
	case 7:
		return get_text(w, s, f, &e->profile_id);
	case 11:
		return get_ints(w, s, f, &e->attributes);
	default:
		return skip(w, s, f);
	}
}

static bool read_profile(struct walk *w, pb_istream_t *s)
{
	struct otlp_profile *e = PUSH(w, profiles);
	struct field f;

	if (!e)
		return false;
	e->scope = w->out->scopes.len - 1;
	e->samples.first = w->out->samples.len;
	while (next_field(w, s, &f))
		(void)read_profile_field(w, s, &f, e);
	e->samples.len = w->out->samples.len - e->samples.first;
	return !w->error;
}

static bool read_scope_names(struct walk *w, pb_istream_t *s)
{
	struct otlp_scope *e = &w->out->scopes.data[w->out->scopes.len - 1];
	struct field f;

	while (next_field(w, s, &f)) {
		if (f.number == 1)
			(void)get_text(w, s, &f, &e->name);
		else if (f.number == 2)
			(void)get_text(w, s, &f, &e->version);
		else
			(void)skip(w, s, &f);
	}
	return !w->error;
}

static bool read_scope(struct walk *w, pb_istream_t *s)
{
	struct otlp_scope *e = PUSH(w, scopes);
	struct field f;

	if (!e)
		return false;
	e->resource = w->out->resources.len - 1;
	e->profiles.first = w->out->profiles.len;
	while (next_field(w, s, &f)) {
		if (f.number == 1)
			(void)get_message(w, s, &f, read_scope_names);
		else if (f.number == 2)
			(void)get_message(w, s, &f, read_profile);
		else
			(void)skip(w, s, &f);
	}
	e->profiles.len = w->out->profiles.len - e->profiles.first;
	return !w->error;
}

static bool read_attributes_of_resource(struct walk *w, pb_istream_t *s)
{
	struct field f;

	while (next_field(w, s, &f)) {
		if (f.number == 1)
			(void)get_message(w, s, &f, read_resource_attribute);
		else
			(void)skip(w, s, &f);
	}
	return !w->error;
}

static bool read_resource(struct walk *w, pb_istream_t *s)
{
	struct otlp_resource *e = PUSH(w, resources);
	struct field f;

	if (!e)
		return false;
	e->pid = -1;
	e->attributes.first = w->out->resource_attributes.len;
	e->scopes.first = w->out->scopes.len;
	while (next_field(w, s, &f)) {
		if (f.number == 1)
			(void)get_message(w, s, &f, read_attributes_of_resource);
		else if (f.number == 2)
			(void)get_message(w, s, &f, read_scope);
		else
			(void)skip(w, s, &f);
	}
	e->attributes.len = w->out->resource_attributes.len - e->attributes.first;
	e->scopes.len = w->out->scopes.len - e->scopes.first;
	return !w->error;
}

/* The attributes that say who a resource is; the dictionary may follow the resources. */
static void resolve_resource(const struct otlp_profiles *p, struct otlp_resource *r)
{
	const struct otlp_attribute *a =
		p->resource_attributes.data + r->attributes.first;
	struct otlp_text key;
	uint32_t i;

	for (i = 0; i < r->attributes.len; i++, a++) {
		key = otlp_attribute_key(p, a);
		if (otlp_text_is(key, "process.pid") && a->kind == OTLP_VALUE_INT)
			r->pid = a->integer;
		else if (otlp_text_is(key, "process.executable.name"))
			r->executable_name = otlp_attribute_text(p, a);
		else if (otlp_text_is(key, "process.executable.path"))
			r->executable_path = otlp_attribute_text(p, a);
		else if (otlp_text_is(key, "container.id"))
			r->container_id = otlp_attribute_text(p, a);
		else if (otlp_text_is(key, "service.name"))
			r->service_name = otlp_attribute_text(p, a);
	}
}

static bool read_request(struct walk *w, pb_istream_t *s)
{
	struct field f;

	while (next_field(w, s, &f)) {
		if (f.number == 1)
			(void)get_message(w, s, &f, read_resource);
		else if (f.number == 2)
			(void)get_message(w, s, &f, otlp_read_dictionary);
		else
			(void)skip(w, s, &f);
	}
	return !w->error;
}

#define RESERVE(w, table) (PUSH(w, table) && ((w)->out->table.len = 0, true))

/* No table is NULL, so that an empty range of one is a valid pointer. */
static bool reserve_tables(struct walk *w)
{
	return RESERVE(w, strings) && RESERVE(w, functions) && RESERVE(w, mappings) &&
	       RESERVE(w, locations) && RESERVE(w, stacks) && RESERVE(w, attributes) &&
	       RESERVE(w, links) && RESERVE(w, resources) && RESERVE(w, scopes) &&
	       RESERVE(w, profiles) && RESERVE(w, samples) &&
	       RESERVE(w, resource_attributes) && RESERVE(w, lines) && RESERVE(w, ints) &&
	       RESERVE(w, values) && RESERVE(w, timestamps);
}

int otlp_read(const void *request, size_t len, struct otlp_profiles **ret,
	      const char **ret_reason)
{
	struct otlp_profiles *p = calloc(1, sizeof(*p));
	/* An empty request may be NULL. */
	struct walk w = { .out = p, .pos = len ? request : (const void *)"" };
	pb_istream_t s = { .callback = move_cursor, .state = &w, .bytes_left = len };
	uint32_t i;

	if (!p)
		return -ENOMEM;
	if (!reserve_tables(&w) || !read_request(&w, &s)) {
		if (ret_reason)
			*ret_reason = w.reason;
		(void)otlp_free(p);
		return w.error;
	}
	for (i = 0; i < p->resources.len; i++)
		resolve_resource(p, &p->resources.data[i]);
	*ret = p;
	return 0;
}

struct otlp_profiles *otlp_free(struct otlp_profiles *p)
{
	if (!p)
		return NULL;
	free(p->strings.data);
	free(p->functions.data);
	free(p->mappings.data);
	free(p->locations.data);
	free(p->stacks.data);
	free(p->attributes.data);
	free(p->links.data);
	free(p->resources.data);
	free(p->scopes.data);
	free(p->profiles.data);
	free(p->samples.data);
	free(p->resource_attributes.data);
	free(p->lines.data);
	free(p->ints.data);
	free(p->values.data);
	free(p->timestamps.data);
	free(p);
	return NULL;
}
