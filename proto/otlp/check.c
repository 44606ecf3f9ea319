/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a profiles request: those of the proto's comments, of the profiles data
 * model, of the semantic conventions 1.44, and what back ends refuse (docs/otlp.md). One
 * row a rule: its first case in words and the number of cases.
 */
#include "otlp/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum rule {
	RULE_ZERO_ENTRY,
	RULE_INDEX,
	RULE_UTF8,
	RULE_DUPLICATE,
	RULE_ORPHAN,
	RULE_EMPTY_LIST,
	RULE_KEY_TWICE,
	RULE_INLINE_KEYS,
	RULE_RESOURCE_PID,
	RULE_MAPPING_RANGE,
	RULE_BUILD_ID,
	RULE_FRAME_TYPE,
	RULE_LOCATION_EMPTY,
	RULE_FUNCTION_EMPTY,
	RULE_NEGATIVE_LINE,
	RULE_LINK_SIZE,
	RULE_KERNEL_ORDER,
	RULE_SAMPLE_TYPE,
	RULE_PERIOD,
	RULE_PROFILE_ID,
	RULE_WINDOW,
	RULE_TIMESTAMP,
	RULE_SHAPE,
	RULE_MIXED_SHAPES,
	RULE_SAME_SAMPLE,
	RULES_MAX,
};

enum table {
	TABLE_MAPPING,
	TABLE_LOCATION,
	TABLE_FUNCTION,
	TABLE_LINK,
	TABLE_STRING,
	TABLE_ATTRIBUTE,
	TABLE_STACK,
	TABLES_MAX,
};

enum {
	SENTENCE_MAX = 256
};

struct check {
	const struct otlp_profiles *p;
	struct {
		char sentence[SENTENCE_MAX];
		uint64_t cases;
	} rules[RULES_MAX];
	uint8_t *used[TABLES_MAX]; /* entries that something refers to */
	uint32_t len[TABLES_MAX];
};

static const char *const table_names[TABLES_MAX] = {
	"mapping_table", "location_table",  "function_table", "link_table",
	"string_table",	 "attribute_table", "stack_table",
};

__attribute__((format(printf, 3, 4))) static void broken(struct check *c, enum rule rule,
							 const char *fmt, ...)
{
	va_list ap;

	if (c->rules[rule].cases++)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(c->rules[rule].sentence, SENTENCE_MAX, fmt, ap);
	va_end(ap);
}

/* Note a reference. Returns true where it can be followed (also to entry 0). */
static bool refer(struct check *c, enum table table, int64_t index, const char *from,
		  uint32_t number)
{
	if (index < 0 || index >= c->len[table]) {
		broken(c, RULE_INDEX, "%s %u: index %" PRId64 " is outside %s of %u",
		       from, number, index, table_names[table], c->len[table]);
		return false;
	}
	c->used[table][index] = 1;
	return true;
}

static bool refer_string(struct check *c, int64_t index, const char *from,
			 uint32_t number)
{
	return refer(c, TABLE_STRING, index, from, number);
}

/* The raw bytes of entry @i: two entries are one if these are equal. */
static struct otlp_text raw_entry(const struct otlp_profiles *p, enum table table,
				  uint32_t i)
{
	switch (table) {
	case TABLE_MAPPING:
		return p->mappings.data[i].raw;
	case TABLE_LOCATION:
		return p->locations.data[i].raw;
	case TABLE_FUNCTION:
		return p->functions.data[i].raw;
	case TABLE_LINK:
		return p->links.data[i].raw;
	case TABLE_STRING:
		return p->strings.data[i];
	case TABLE_ATTRIBUTE:
		return p->attributes.data[i].raw;
	default:
		return p->stacks.data[i].raw;
	}
}

static int compare_texts(const void *a, const void *b)
{
	const struct otlp_text *x = a, *y = b;
	size_t n = x->len < y->len ? x->len : y->len;
	int r = n ? memcmp(x->data, y->data, n) : 0;

	if (r)
		return r;
	return x->len < y->len ? -1 : x->len > y->len;
}

static int check_table(struct check *c, enum table table)
{
	uint32_t len = c->len[table];
	struct otlp_text *sorted;
	uint32_t i;

	if (!len || raw_entry(c->p, table, 0).len)
		broken(c, RULE_ZERO_ENTRY,
		       "%s: entry 0 must be there and be the zero value",
		       table_names[table]);
	sorted = calloc((size_t)len + 1, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (i = 0; i < len; i++)
		sorted[i] = raw_entry(c->p, table, i);
	qsort(sorted, len, sizeof(*sorted), compare_texts);
	for (i = 1; i < len; i++) {
		if (compare_texts(&sorted[i - 1], &sorted[i]) == 0)
			broken(c, RULE_DUPLICATE, "%s: two entries are equal: \"%.*s\"",
			       table_names[table],
			       table == TABLE_STRING ? (int)sorted[i].len : 0,
			       sorted[i].data);
	}
	free(sorted);
	return 0;
}

static void check_orphans(struct check *c)
{
	enum table t;
	uint32_t i;

	for (t = 0; t < TABLES_MAX; t++) {
		for (i = 1; i < c->len[t]; i++) {
			if (!c->used[t][i])
				broken(c, RULE_ORPHAN, "%s: nothing refers to entry %u",
				       table_names[t], i);
		}
	}
}

static bool utf8_ok(struct otlp_text t)
{
	size_t at, n;

	for (at = 0; at < t.len; at += n) {
		n = otlp_utf8_len(t.data + at, t.len - at);
		if (!n)
			return false;
	}
	return true;
}

static void check_strings(struct check *c)
{
	uint32_t i;

	for (i = 0; i < c->p->strings.len; i++) {
		if (!utf8_ok(c->p->strings.data[i]))
			broken(c, RULE_UTF8, "string_table: entry %u is not UTF-8", i);
	}
}

/* A list of attribute indices: in range, no zero, no key twice. */
static void check_attribute_list(struct check *c, struct otlp_range r, const char *from,
				 uint32_t number)
{
	const struct otlp_profiles *p = c->p;
	const int32_t *ints = p->ints.data + r.first;
	struct otlp_text key;
	uint32_t i, j;

	for (i = 0; i < r.len; i++) {
		if (!refer(c, TABLE_ATTRIBUTE, ints[i], from, number))
			return;
	}
	/* Lists are short; a long one is not worth quadratic time. */
	for (i = 1; i < r.len && r.len <= 64; i++) {
		key = otlp_attribute_key(p, &p->attributes.data[ints[i]]);
		for (j = 0; j < i; j++) {
			struct otlp_text other =
				otlp_attribute_key(p, &p->attributes.data[ints[j]]);

			if (compare_texts(&key, &other) == 0)
				broken(c, RULE_KEY_TWICE, "%s %u: key \"%.*s\" twice",
				       from, number, (int)key.len, key.data);
		}
	}
}

static void check_attributes(struct check *c)
{
	const struct otlp_attribute *a;
	uint32_t i;

	for (i = 1; i < c->p->attributes.len; i++) {
		a = &c->p->attributes.data[i];
		(void)refer_string(c, a->key_ref, "attribute", i);
		(void)refer_string(c, a->unit, "attribute", i);
		if (a->kind == OTLP_VALUE_REF)
			(void)refer_string(c, a->integer, "attribute", i);
		if (a->kind == OTLP_VALUE_STRING && !utf8_ok(a->text))
			broken(c, RULE_UTF8, "attribute %u: its value is not UTF-8", i);
	}
}

static void check_mappings(struct check *c)
{
	const struct otlp_profiles *p = c->p;
	const struct otlp_mapping *m;
	uint32_t i;

	for (i = 1; i < p->mappings.len; i++) {
		m = &p->mappings.data[i];
		(void)refer_string(c, m->file, "mapping", i);
		check_attribute_list(c, m->attributes, "mapping", i);
		if (m->start >= m->limit && (m->start || m->limit))
			broken(c, RULE_MAPPING_RANGE,
			       "mapping %u: starts at 0x%" PRIx64
			       ", at or past its limit",
			       i, m->start);
		if (!otlp_find_attribute(p, m->attributes,
					 "process.executable.build_id.gnu") &&
		    !otlp_find_attribute(p, m->attributes,
					 "process.executable.build_id.go") &&
		    !otlp_find_attribute(p, m->attributes,
					 "process.executable.build_id.htlhash"))
			broken(c, RULE_BUILD_ID,
			       "mapping %u (%.*s): no process.executable.build_id.*", i,
			       (int)otlp_string(p, m->file).len,
			       otlp_string(p, m->file).data);
	}
}

static void check_functions(struct check *c)
{
	const struct otlp_function *f;
	uint32_t i;

	for (i = 1; i < c->p->functions.len; i++) {
		f = &c->p->functions.data[i];
		(void)refer_string(c, f->name, "function", i);
		(void)refer_string(c, f->system_name, "function", i);
		(void)refer_string(c, f->file, "function", i);
		if (!f->name && !f->system_name && !f->file)
			broken(c, RULE_FUNCTION_EMPTY,
			       "function %u: has neither a name nor "
			       "a file",
			       i);
		if (f->start_line < 0)
			broken(c, RULE_NEGATIVE_LINE,
			       "function %u: starts at line %" PRId64, i, f->start_line);
	}
}

static void check_locations(struct check *c)
{
	const struct otlp_profiles *p = c->p;
	const struct otlp_location *l;
	const struct otlp_line *line;
	uint32_t i, j;

	for (i = 1; i < p->locations.len; i++) {
		l = &p->locations.data[i];
		(void)refer(c, TABLE_MAPPING, l->mapping, "location", i);
		check_attribute_list(c, l->attributes, "location", i);
		for (j = 0; j < l->lines.len; j++) {
			line = &p->lines.data[l->lines.first + j];
			(void)refer(c, TABLE_FUNCTION, line->function, "location", i);
			if (line->line < 0 || line->column < 0)
				broken(c, RULE_NEGATIVE_LINE,
				       "location %u: line %" PRId64, i, line->line);
		}
		if (!l->lines.len && !l->address)
			broken(c, RULE_LOCATION_EMPTY,
			       "location %u: has neither a line nor an address", i);
		if (!otlp_find_attribute(p, l->attributes, "profile.frame.type"))
			broken(c, RULE_FRAME_TYPE, "location %u: no profile.frame.type",
			       i);
	}
}

static bool is_kernel(const struct otlp_profiles *p, int32_t location)
{
	const struct otlp_attribute *a;

	if (location <= 0 || (uint32_t)location >= p->locations.len)
		return false;
	a = otlp_find_attribute(p, p->locations.data[location].attributes,
				"profile.frame.type");
	return a && otlp_text_is(otlp_attribute_text(p, a), "kernel");
}

/* Leaf first: whatever calls a user frame is a user frame. */
static void check_stacks(struct check *c)
{
	const struct otlp_profiles *p = c->p;
	struct otlp_range r;
	bool user, kernel;
	uint32_t i, j;

	for (i = 1; i < p->stacks.len; i++) {
		r = p->stacks.data[i].locations;
		user = false;
		for (j = 0; j < r.len; j++) {
			(void)refer(c, TABLE_LOCATION, p->ints.data[r.first + j], "stack",
				    i);
			kernel = is_kernel(p, p->ints.data[r.first + j]);
			if (kernel && user)
				broken(c, RULE_KERNEL_ORDER,
				       "stack %u: a kernel frame calls nothing but kernel "
				       "frames, so it cannot be below a user frame",
				       i);
			user = user || !kernel;
		}
	}
}

static void check_links(struct check *c)
{
	const struct otlp_link *l;
	uint32_t i;

	for (i = 1; i < c->p->links.len; i++) {
		l = &c->p->links.data[i];
		if (l->trace_id.len != 16 || l->span_id.len != 8)
			broken(c, RULE_LINK_SIZE, "link %u: ids of %zu and %zu bytes", i,
			       l->trace_id.len, l->span_id.len);
	}
}

static void check_resources(struct check *c)
{
	const struct otlp_profiles *p = c->p;
	const struct otlp_resource *r;
	const struct otlp_attribute *a;
	uint32_t i, j;

	if (!p->resources.len)
		broken(c, RULE_EMPTY_LIST, "the request has no resource");
	for (i = 0; i < p->resources.len; i++) {
		r = &p->resources.data[i];
		if (!r->scopes.len)
			broken(c, RULE_EMPTY_LIST, "resource %u: has no scope", i);
		if (r->pid < 0)
			broken(c, RULE_RESOURCE_PID, "resource %u: no process.pid", i);
		for (j = 0; j < r->attributes.len; j++) {
			a = &p->resource_attributes.data[r->attributes.first + j];
			if (a->key_ref || a->kind == OTLP_VALUE_REF)
				broken(c, RULE_INLINE_KEYS,
				       "resource %u: an attribute by reference, which "
				       "Collectors before 0.161 lose",
				       i);
			if (a->key_ref)
				(void)refer_string(c, a->key_ref, "resource", i);
			if (a->kind == OTLP_VALUE_REF)
				(void)refer_string(c, a->integer, "resource", i);
			if (!utf8_ok(a->key) ||
			    (a->kind == OTLP_VALUE_STRING && !utf8_ok(a->text)))
				broken(c, RULE_UTF8,
				       "resource %u: an attribute is not UTF-8", i);
		}
	}
	for (i = 0; i < p->scopes.len; i++) {
		if (!p->scopes.data[i].profiles.len)
			broken(c, RULE_EMPTY_LIST, "scope %u: has no profile", i);
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
			broken(c, RULE_TIMESTAMP,
			       "profile %u: timestamp %" PRIu64 " is outside [%" PRIu64
			       ", +%" PRIu64 ")",
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
			broken(c, RULE_SAME_SAMPLE,
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
		(void)refer(c, TABLE_STACK, s->stack, "sample", i);
		(void)refer(c, TABLE_LINK, s->link, "sample", i);
		check_attribute_list(c, s->attributes, "sample", i);
		check_times(c, profile, number, s);
		if (shape_of(s) == SHAPE_BAD)
			broken(c, RULE_SHAPE,
			       "profile %u, sample %u: %u values and %u timestamps",
			       number, i, s->values.len, s->timestamps.len);
		else if (first != SHAPE_BAD && shape_of(s) != first)
			broken(c, RULE_MIXED_SHAPES,
			       "profile %u: samples of unlike shapes", number);
	}
}

static int check_profile(struct check *c, uint32_t number)
{
	static const char zeros[16];
	const struct otlp_profile *f = &c->p->profiles.data[number];

	(void)refer_string(c, f->sample_type, "profile", number);
	(void)refer_string(c, f->sample_unit, "profile", number);
	(void)refer_string(c, f->period_type, "profile", number);
	(void)refer_string(c, f->period_unit, "profile", number);
	check_attribute_list(c, f->attributes, "profile", number);
	if (!f->samples.len)
		broken(c, RULE_EMPTY_LIST, "profile %u: has no sample", number);
	if (!f->sample_type || !f->sample_unit)
		broken(c, RULE_SAMPLE_TYPE, "profile %u: sample_type is not set", number);
	if (f->period < 0 || (f->period && !f->period_type) ||
	    (otlp_text_is(otlp_string(c->p, f->sample_type), "samples") && !f->period))
		broken(c, RULE_PERIOD, "profile %u: period %" PRId64 " %s", number,
		       f->period, f->period_type ? "" : "without a type");
	if (f->profile_id.len &&
	    (f->profile_id.len != 16 || memcmp(f->profile_id.data, zeros, 16) == 0))
		broken(c, RULE_PROFILE_ID,
		       "profile %u: profile_id is not 16 bytes or is zero", number);
	if (!f->time_ns || !f->duration_ns)
		broken(c, RULE_WINDOW,
		       "profile %u: starts at %" PRIu64 " and lasts %" PRIu64, number,
		       f->time_ns, f->duration_ns);
	check_samples(c, f, number);
	return check_identities(c, f, number);
}

static int run_rules(struct check *c)
{
	enum table t;
	uint32_t i;
	int r = 0;

	for (t = 0; t < TABLES_MAX; t++) {
		c->used[t] = calloc((size_t)c->len[t] + 1, 1);
		if (!c->used[t])
			return -ENOMEM;
	}
	for (t = 0; !r && t < TABLES_MAX; t++)
		r = check_table(c, t);
	for (i = 0; !r && i < c->p->profiles.len; i++)
		r = check_profile(c, i);
	if (r)
		return r;
	check_strings(c);
	check_attributes(c);
	check_mappings(c);
	check_functions(c);
	check_locations(c);
	check_stacks(c);
	check_links(c);
	check_resources(c);
	check_orphans(c);
	return 0;
}

int otlp_check(const struct otlp_profiles *p, otlp_violation_fn fn, void *data)
{
	struct check c = {
		.p = p,
		.len = { p->mappings.len, p->locations.len, p->functions.len,
			 p->links.len, p->strings.len, p->attributes.len, p->stacks.len },
	};
	int r = run_rules(&c);
	size_t i;

	for (i = 0; i < TABLES_MAX; i++)
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
