/* SPDX-License-Identifier: Apache-2.0 */
/* Resources, scopes, profiles and samples; and the whole request. */
#include "otlp/reader.h"

#include "walk.h"

#define LAST(w, table) (&(w)->out->table.data[(w)->out->table.len - 1])

static bool read_resource_attribute(struct walk *w, pb_istream_t *s)
{
	static const struct field_rule rules[] = {
		FIELD(1, struct otlp_attribute, key),
		{ 2, FIELD_ANY, 0, NULL },
		FIELD(3, struct otlp_attribute, key_ref),
	};
	struct otlp_attribute *a = PUSH(w, resource_attributes);

	if (!a)
		return false;
	a->raw = rest(w, s);
	return READ_FIELDS(w, s, rules, a);
}

static bool read_sample(struct walk *w, pb_istream_t *s)
{
	static const struct field_rule rules[] = {
		FIELD(1, struct otlp_sample, stack),
		FIELD(2, struct otlp_sample, attributes),
		FIELD(3, struct otlp_sample, link),
		FIELD_AS(4, struct otlp_sample, values, FIELD_VALUES),
		FIELD_AS(5, struct otlp_sample, timestamps, FIELD_TIMESTAMPS),
	};
	struct otlp_sample *e = PUSH(w, samples);

	return e && READ_FIELDS(w, s, rules, e);
}

static bool read_sample_type(struct walk *w, pb_istream_t *s)
{
	static const struct field_rule rules[] = {
		FIELD(1, struct otlp_profile, sample_type),
		FIELD(2, struct otlp_profile, sample_unit),
	};

	return READ_FIELDS(w, s, rules, LAST(w, profiles));
}

static bool read_period_type(struct walk *w, pb_istream_t *s)
{
	static const struct field_rule rules[] = {
		FIELD(1, struct otlp_profile, period_type),
		FIELD(2, struct otlp_profile, period_unit),
	};

	return READ_FIELDS(w, s, rules, LAST(w, profiles));
}

static bool read_profile(struct walk *w, pb_istream_t *s)
{
	static const struct field_rule rules[] = {
		MESSAGE(1, read_sample_type),
		MESSAGE(2, read_sample),
		FIELD_AS(3, struct otlp_profile, time_ns, FIELD_FIXED64),
		FIELD(4, struct otlp_profile, duration_ns),
		MESSAGE(5, read_period_type),
		FIELD(6, struct otlp_profile, period),
		FIELD(7, struct otlp_profile, profile_id),
		FIELD(11, struct otlp_profile, attributes),
	};
	struct otlp_profile *e = PUSH(w, profiles);

	if (!e)
		return false;
	e->scope = w->out->scopes.len - 1;
	e->samples.first = w->out->samples.len;
	if (!READ_FIELDS(w, s, rules, e))
		return false;
	e->samples.len = w->out->samples.len - e->samples.first;
	return true;
}

static bool read_scope_names(struct walk *w, pb_istream_t *s)
{
	static const struct field_rule rules[] = {
		FIELD(1, struct otlp_scope, name),
		FIELD(2, struct otlp_scope, version),
	};

	return READ_FIELDS(w, s, rules, LAST(w, scopes));
}

static bool read_scope(struct walk *w, pb_istream_t *s)
{
	static const struct field_rule rules[] = {
		MESSAGE(1, read_scope_names),
		MESSAGE(2, read_profile),
	};
	struct otlp_scope *e = PUSH(w, scopes);

	if (!e)
		return false;
	e->resource = w->out->resources.len - 1;
	e->profiles.first = w->out->profiles.len;
	if (!READ_FIELDS(w, s, rules, e))
		return false;
	e->profiles.len = w->out->profiles.len - e->profiles.first;
	return true;
}

static bool read_attributes_of_resource(struct walk *w, pb_istream_t *s)
{
	static const struct field_rule rules[] = { MESSAGE(1, read_resource_attribute) };

	return READ_FIELDS(w, s, rules, w->out);
}

static bool read_resource(struct walk *w, pb_istream_t *s)
{
	static const struct field_rule rules[] = {
		MESSAGE(1, read_attributes_of_resource),
		MESSAGE(2, read_scope),
	};
	struct otlp_resource *e = PUSH(w, resources);

	if (!e)
		return false;
	e->pid = -1;
	e->attributes.first = w->out->resource_attributes.len;
	e->scopes.first = w->out->scopes.len;
	if (!READ_FIELDS(w, s, rules, e))
		return false;
	e->attributes.len = w->out->resource_attributes.len - e->attributes.first;
	e->scopes.len = w->out->scopes.len - e->scopes.first;
	return true;
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
		else if (otlp_text_is(key, "container.name"))
			r->container_name = otlp_attribute_text(p, a);
		else if (otlp_text_is(key, "service.name"))
			r->service_name = otlp_attribute_text(p, a);
	}
}

static bool read_request(struct walk *w, pb_istream_t *s)
{
	static const struct field_rule rules[] = {
		MESSAGE(1, read_resource),
		MESSAGE(2, otlp_read_dictionary),
	};

	return READ_FIELDS(w, s, rules, w->out);
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
	p->bytes = len;
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
