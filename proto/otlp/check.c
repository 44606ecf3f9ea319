/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a profiles request: those of the proto's comments, of the profiles data
 * model, of the semantic conventions 1.44, and what back ends refuse (docs/otlp.md). One
 * row a rule: its first case in words and the number of cases.
 */
#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void check_resources(struct check *c)
{
	const struct otlp_profiles *p = c->p;
	const struct otlp_resource *r;
	const struct otlp_attribute *a;
	uint32_t i, j;

	if (!p->resources.len)
		otlp_broken(c, RULE_EMPTY_LIST, "the request has no resource");
	for (i = 0; i < p->resources.len; i++) {
		r = &p->resources.data[i];
		if (!r->scopes.len)
			otlp_broken(c, RULE_EMPTY_LIST, "resource %u: has no scope", i);
		if (r->pid < 0)
			otlp_broken(c, RULE_RESOURCE_PID, "resource %u: no process.pid",
				    i);
		for (j = 0; j < r->attributes.len; j++) {
			a = &p->resource_attributes.data[r->attributes.first + j];
			if (a->key_ref || a->kind == OTLP_VALUE_REF)
				otlp_broken(
					c, RULE_INLINE_KEYS,
					"resource %u: an attribute by reference, which "
					"Collectors before 0.161 lose",
					i);
			if (a->key_ref)
				(void)otlp_refer_string(c, a->key_ref, "resource", i);
			if (a->kind == OTLP_VALUE_REF)
				(void)otlp_refer_string(c, a->integer, "resource", i);
			if (!otlp_utf8_ok(a->key) ||
			    (a->kind == OTLP_VALUE_STRING && !otlp_utf8_ok(a->text)))
				otlp_broken(c, RULE_UTF8,
					    "resource %u: an attribute is not UTF-8", i);
		}
	}
	for (i = 0; i < p->scopes.len; i++) {
		if (!p->scopes.data[i].profiles.len)
			otlp_broken(c, RULE_EMPTY_LIST, "scope %u: has no profile", i);
	}
}

static void check_times(struct check *c, const struct otlp_profile *profile,
			uint32_t number, const struct otlp_sample *s)
{
	uint64_t t;
	uint32_t i;

	for (i = 0; i < s->timestamps.len; i++) {
		t = c->p->timestamps.data[s->timestamps.first + i];
		if (t < profile->time_ns || t - profile->time_ns >= profile->duration_ns)
			otlp_broken(c, RULE_TIMESTAMP,
				    "profile %u: timestamp %" PRIu64
				    " is outside [%" PRIu64 ", +%" PRIu64 ")",
				    number, t, profile->time_ns, profile->duration_ns);
	}
}

enum shape {
	SHAPE_TIMES,
	SHAPE_VALUE,
	SHAPE_BOTH,
	SHAPE_BAD
};

static enum shape shape_of(const struct otlp_sample *s)
{
	if (!s->values.len)
		return s->timestamps.len ? SHAPE_TIMES : SHAPE_BAD;
	if (!s->timestamps.len)
		return s->values.len == 1 ? SHAPE_VALUE : SHAPE_BAD;
	return s->values.len == s->timestamps.len ? SHAPE_BOTH : SHAPE_BAD;
}

struct identity {
	const struct check *c;
	const struct otlp_sample *sample;
};

static int compare_identities(const void *a, const void *b)
{
	const struct identity *x = a, *y = b;
	const int32_t *ints = x->c->p->ints.data;
	const struct otlp_sample *s = x->sample, *t = y->sample;

	if (s->stack != t->stack)
		return s->stack < t->stack ? -1 : 1;
	if (s->link != t->link)
		return s->link < t->link ? -1 : 1;
	if (s->attributes.len != t->attributes.len)
		return s->attributes.len < t->attributes.len ? -1 : 1;
	if (!s->attributes.len)
		return 0;
	return memcmp(ints + s->attributes.first, ints + t->attributes.first,
		      s->attributes.len * sizeof(*ints));
}

/* Samples of one profile with one identity must be one sample. Attributes are compared in
 * their order: another order of the same set is not noticed. */
static int check_identities(struct check *c, const struct otlp_profile *profile,
			    uint32_t number)
{
	uint32_t len = profile->samples.len;
	struct identity *ids = calloc((size_t)len + 1, sizeof(*ids));
	uint32_t i;

	if (!ids)
		return -ENOMEM;
	for (i = 0; i < len; i++)
		ids[i] = (struct identity){
			c, &c->p->samples.data[profile->samples.first + i]
		};
	qsort(ids, len, sizeof(*ids), compare_identities);
	for (i = 1; i < len; i++) {
		if (compare_identities(&ids[i - 1], &ids[i]) == 0)
			otlp_broken(
				c, RULE_SAME_SAMPLE,
				"profile %u: two samples with stack %d and equal attributes",
				number, ids[i].sample->stack);
	}
	free(ids);
	return 0;
}

static void check_samples(struct check *c, const struct otlp_profile *profile,
			  uint32_t number)
{
	const struct otlp_sample *s = c->p->samples.data + profile->samples.first;
	enum shape first = profile->samples.len ? shape_of(s) : SHAPE_BAD;
	uint32_t i;

	for (i = 0; i < profile->samples.len; i++, s++) {
		(void)otlp_refer(c, OTLP_TABLE_STACK, s->stack, "sample", i);
		(void)otlp_refer(c, OTLP_TABLE_LINK, s->link, "sample", i);
		otlp_check_attribute_list(c, s->attributes, "sample", i);
		check_times(c, profile, number, s);
		if (shape_of(s) == SHAPE_BAD)
			otlp_broken(c, RULE_SHAPE,
				    "profile %u, sample %u: %u values and %u timestamps",
				    number, i, s->values.len, s->timestamps.len);
		else if (first != SHAPE_BAD && shape_of(s) != first)
			otlp_broken(c, RULE_MIXED_SHAPES,
				    "profile %u: samples of unlike shapes", number);
	}
}

static int check_profile(struct check *c, uint32_t number)
{
	static const char zeros[16];
	const struct otlp_profile *f = &c->p->profiles.data[number];

	(void)otlp_refer_string(c, f->sample_type, "profile", number);
	(void)otlp_refer_string(c, f->sample_unit, "profile", number);
	(void)otlp_refer_string(c, f->period_type, "profile", number);
	(void)otlp_refer_string(c, f->period_unit, "profile", number);
	otlp_check_attribute_list(c, f->attributes, "profile", number);
	if (!f->samples.len)
		otlp_broken(c, RULE_EMPTY_LIST, "profile %u: has no sample", number);
	if (!f->sample_type || !f->sample_unit)
		otlp_broken(c, RULE_SAMPLE_TYPE, "profile %u: sample_type is not set",
			    number);
	if (f->period < 0 || (f->period && !f->period_type) ||
	    (otlp_text_is(otlp_string(c->p, f->sample_type), "samples") && !f->period))
		otlp_broken(c, RULE_PERIOD, "profile %u: period %" PRId64 " %s", number,
			    f->period, f->period_type ? "" : "without a type");
	if (f->profile_id.len &&
	    (f->profile_id.len != 16 || memcmp(f->profile_id.data, zeros, 16) == 0))
		otlp_broken(c, RULE_PROFILE_ID,
			    "profile %u: profile_id is not 16 bytes or is zero", number);
	if (!f->time_ns || !f->duration_ns)
		otlp_broken(c, RULE_WINDOW,
			    "profile %u: starts at %" PRIu64 " and lasts %" PRIu64,
			    number, f->time_ns, f->duration_ns);
	check_samples(c, f, number);
	return check_identities(c, f, number);
}

static int run_rules(struct check *c)
{
	enum otlp_table t;
	uint32_t i;
	int r = 0;

	for (t = OTLP_TABLE_MAPPING; t < OTLP_TABLES; t++) {
		c->len[t] = otlp_table_len(c->p, t);
		c->used[t] = calloc((size_t)c->len[t] + 1, 1);
		if (!c->used[t])
			return -ENOMEM;
	}
	for (t = OTLP_TABLE_MAPPING; !r && t < OTLP_TABLES; t++)
		r = otlp_check_table(c, t);
	for (i = 0; !r && i < c->p->profiles.len; i++)
		r = check_profile(c, i);
	if (r)
		return r;
	otlp_check_entries(c);
	check_resources(c);
	otlp_check_orphans(c);
	return 0;
}

int otlp_check(const struct otlp_profiles *p, otlp_violation_fn fn, void *data)
{
	struct check c = {
		.p = p,
	};
	int r = run_rules(&c);
	size_t i;

	for (i = 0; i < OTLP_TABLES; i++)
		free(c.used[i]);
	if (r)
		return r;
	for (i = 0; i < RULES_MAX; i++) {
		if (!c.rules[i].cases)
			continue;
		r++;
		fn(data, c.rules[i].sentence, c.rules[i].cases);
	}
	return r;
}
