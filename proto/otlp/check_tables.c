/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the dictionary's tables: references, duplicates, orphans, and each entry. */
#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const table_names[OTLP_TABLES] = {
	[OTLP_TABLE_MAPPING] = "mapping_table",
	[OTLP_TABLE_LOCATION] = "location_table",
	[OTLP_TABLE_FUNCTION] = "function_table",
	[OTLP_TABLE_LINK] = "link_table",
	[OTLP_TABLE_STRING] = "string_table",
	[OTLP_TABLE_ATTRIBUTE] = "attribute_table",
	[OTLP_TABLE_STACK] = "stack_table",
};

void otlp_broken(struct check *c, enum rule rule, const char *fmt, ...)
{
	va_list ap;

	if (c->rules[rule].cases++)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(c->rules[rule].sentence, SENTENCE_MAX, fmt, ap);
	va_end(ap);
}

bool otlp_refer(struct check *c, enum otlp_table table, int64_t index, const char *from,
		uint32_t number)
{
	if (index < 0 || index >= c->len[table]) {
		otlp_broken(c, RULE_INDEX, "%s %u: index %" PRId64 " is outside %s of %u",
			    from, number, index, table_names[table], c->len[table]);
		return false;
	}
	c->used[table][index] = 1;
	return true;
}

bool otlp_refer_string(struct check *c, int64_t index, const char *from, uint32_t number)
{
	return otlp_refer(c, OTLP_TABLE_STRING, index, from, number);
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

int otlp_check_table(struct check *c, enum otlp_table table)
{
	uint32_t len = c->len[table];
	struct otlp_text *sorted;
	uint32_t i;

	if (!len || otlp_table_entry(c->p, table, 0).len)
		otlp_broken(c, RULE_ZERO_ENTRY,
			    "%s: entry 0 must be there and be the zero value",
			    table_names[table]);
	sorted = calloc((size_t)len + 1, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (i = 0; i < len; i++)
		sorted[i] = otlp_table_entry(c->p, table, i);
	qsort(sorted, len, sizeof(*sorted), compare_texts);
	for (i = 1; i < len; i++) {
		if (compare_texts(&sorted[i - 1], &sorted[i]) == 0)
			otlp_broken(c, RULE_DUPLICATE,
				    "%s: two entries are equal: \"%.*s\"",
				    table_names[table],
				    table == OTLP_TABLE_STRING ? (int)sorted[i].len : 0,
				    sorted[i].data);
	}
	free(sorted);
	return 0;
}

void otlp_check_orphans(struct check *c)
{
	enum otlp_table t;
	uint32_t i;

	for (t = OTLP_TABLE_MAPPING; t < OTLP_TABLES; t++) {
		for (i = 1; i < c->len[t]; i++) {
			if (!c->used[t][i])
				otlp_broken(c, RULE_ORPHAN,
					    "%s: nothing refers to entry %u",
					    table_names[t], i);
		}
	}
}

bool otlp_utf8_ok(struct otlp_text t)
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
		if (!otlp_utf8_ok(c->p->strings.data[i]))
			otlp_broken(c, RULE_UTF8, "string_table: entry %u is not UTF-8",
				    i);
	}
}

void otlp_check_attribute_list(struct check *c, struct otlp_range r, const char *from,
			       uint32_t number)
{
	const struct otlp_profiles *p = c->p;
	const int32_t *ints = p->ints.data + r.first;
	struct otlp_text key;
	uint32_t i, j;

	for (i = 0; i < r.len; i++) {
		if (!otlp_refer(c, OTLP_TABLE_ATTRIBUTE, ints[i], from, number))
			return;
	}
	/* Lists are short; a long one is not worth quadratic time. */
	for (i = 1; i < r.len && r.len <= 64; i++) {
		key = otlp_attribute_key(p, &p->attributes.data[ints[i]]);
		for (j = 0; j < i; j++) {
			struct otlp_text other =
				otlp_attribute_key(p, &p->attributes.data[ints[j]]);

			if (compare_texts(&key, &other) == 0)
				otlp_broken(c, RULE_KEY_TWICE,
					    "%s %u: key \"%.*s\" twice", from, number,
					    (int)key.len, key.data);
		}
	}
}

static void check_attributes(struct check *c)
{
	const struct otlp_attribute *a;
	uint32_t i;

	for (i = 1; i < c->p->attributes.len; i++) {
		a = &c->p->attributes.data[i];
		(void)otlp_refer_string(c, a->key_ref, "attribute", i);
		(void)otlp_refer_string(c, a->unit, "attribute", i);
		if (a->kind == OTLP_VALUE_REF)
			(void)otlp_refer_string(c, a->integer, "attribute", i);
		if (a->kind == OTLP_VALUE_STRING && !otlp_utf8_ok(a->text))
			otlp_broken(c, RULE_UTF8, "attribute %u: its value is not UTF-8",
				    i);
	}
}

static void check_mappings(struct check *c)
{
	const struct otlp_profiles *p = c->p;
	const struct otlp_mapping *m;
	uint32_t i;

	for (i = 1; i < p->mappings.len; i++) {
		m = &p->mappings.data[i];
		(void)otlp_refer_string(c, m->file, "mapping", i);
		otlp_check_attribute_list(c, m->attributes, "mapping", i);
		if (m->start >= m->limit && (m->start || m->limit))
			otlp_broken(c, RULE_MAPPING_RANGE,
				    "mapping %u: starts at 0x%" PRIx64
				    ", at or past its limit",
				    i, m->start);
		if (!otlp_find_attribute(p, m->attributes,
					 "process.executable.build_id.gnu") &&
		    !otlp_find_attribute(p, m->attributes,
					 "process.executable.build_id.go") &&
		    !otlp_find_attribute(p, m->attributes,
					 "process.executable.build_id.htlhash"))
			otlp_broken(c, RULE_BUILD_ID,
				    "mapping %u (%.*s): no process.executable.build_id.*",
				    i, (int)otlp_string(p, m->file).len,
				    otlp_string(p, m->file).data);
	}
}

static void check_functions(struct check *c)
{
	const struct otlp_function *f;
	uint32_t i;

	for (i = 1; i < c->p->functions.len; i++) {
		f = &c->p->functions.data[i];
		(void)otlp_refer_string(c, f->name, "function", i);
		(void)otlp_refer_string(c, f->system_name, "function", i);
		(void)otlp_refer_string(c, f->file, "function", i);
		if (!f->name && !f->system_name && !f->file)
			otlp_broken(c, RULE_FUNCTION_EMPTY,
				    "function %u: has neither a name nor "
				    "a file",
				    i);
		if (f->start_line < 0)
			otlp_broken(c, RULE_NEGATIVE_LINE,
				    "function %u: starts at line %" PRId64, i,
				    f->start_line);
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
		(void)otlp_refer(c, OTLP_TABLE_MAPPING, l->mapping, "location", i);
		otlp_check_attribute_list(c, l->attributes, "location", i);
		for (j = 0; j < l->lines.len; j++) {
			line = &p->lines.data[l->lines.first + j];
			(void)otlp_refer(c, OTLP_TABLE_FUNCTION, line->function,
					 "location", i);
			if (line->line < 0 || line->column < 0)
				otlp_broken(c, RULE_NEGATIVE_LINE,
					    "location %u: line %" PRId64, i, line->line);
		}
		if (!l->lines.len && !l->address)
			otlp_broken(c, RULE_LOCATION_EMPTY,
				    "location %u: has neither a line nor an address", i);
		if (!otlp_find_attribute(p, l->attributes, "profile.frame.type"))
			otlp_broken(c, RULE_FRAME_TYPE,
				    "location %u: no profile.frame.type", i);
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
			(void)otlp_refer(c, OTLP_TABLE_LOCATION,
					 p->ints.data[r.first + j], "stack", i);
			kernel = is_kernel(p, p->ints.data[r.first + j]);
			if (kernel && user)
				otlp_broken(
					c, RULE_KERNEL_ORDER,
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
			otlp_broken(c, RULE_LINK_SIZE,
				    "link %u: ids of %zu and %zu bytes", i,
				    l->trace_id.len, l->span_id.len);
	}
}

void otlp_check_entries(struct check *c)
{
	check_strings(c);
	check_attributes(c);
	check_mappings(c);
	check_functions(c);
	check_locations(c);
	check_stacks(c);
	check_links(c);
}
