/* SPDX-License-Identifier: Apache-2.0 */
/* The fields that are numbers of dictionary entries, and a copy with other numbers. */
#include "recording/requests/rewrite.h"

#include <errno.h>
#include <string.h>

enum {
	DEPTH_MAX = 64, /* nested messages; lists of values may nest */
};

/* What the copy does with a field: it is a number of @table, or a message, or it is
 * left out. */
struct rule {
	uint32_t field;
	enum otlp_table table;
	const struct schema *message;
	bool drop;
};

struct schema {
	const struct rule *rules;
	size_t len;
};

#define NUMBER(field, table)                                                             \
	{                                                                                \
		field, table, NULL, false                                                \
	}
#define MESSAGE(field, schema)                                                           \
	{                                                                                \
		field, OTLP_TABLE_NONE, schema, false                                    \
	}
#define DROP(field)                                                                      \
	{                                                                                \
		field, OTLP_TABLE_NONE, NULL, true                                       \
	}
#define SCHEMA(rules)                                                                    \
	{                                                                                \
		rules, sizeof(rules) / sizeof((rules)[0])                                \
	}

/* AnyValue, ArrayValue, KeyValueList and KeyValue contain each other. */
static const struct schema any_value, array_value, key_values, key_value;
static const struct rule any_value_rules[] = {
	MESSAGE(5, &array_value),
	MESSAGE(6, &key_values),
	NUMBER(8, OTLP_TABLE_STRING),
};
static const struct schema any_value = SCHEMA(any_value_rules);
static const struct rule array_value_rules[] = { MESSAGE(1, &any_value) };
static const struct schema array_value = SCHEMA(array_value_rules);
static const struct rule key_values_rules[] = { MESSAGE(1, &key_value) };
static const struct schema key_values = SCHEMA(key_values_rules);
static const struct rule key_value_rules[] = {
	MESSAGE(2, &any_value),
	NUMBER(3, OTLP_TABLE_STRING),
};
static const struct schema key_value = SCHEMA(key_value_rules);

static const struct rule resource_rules[] = { MESSAGE(1, &key_value) };
static const struct schema resource = SCHEMA(resource_rules);
static const struct rule resource_head_rules[] = { MESSAGE(1, &resource), DROP(2) };
const struct schema schema_resource_head = SCHEMA(resource_head_rules);

static const struct rule scope_rules[] = { MESSAGE(3, &key_value) };
static const struct schema scope = SCHEMA(scope_rules);
static const struct rule scope_head_rules[] = { MESSAGE(1, &scope), DROP(2) };
const struct schema schema_scope_head = SCHEMA(scope_head_rules);

static const struct rule value_type_rules[] = {
	NUMBER(1, OTLP_TABLE_STRING),
	NUMBER(2, OTLP_TABLE_STRING),
};
static const struct schema value_type = SCHEMA(value_type_rules);
static const struct rule sample_rules[] = {
	NUMBER(1, OTLP_TABLE_STACK),
	NUMBER(2, OTLP_TABLE_ATTRIBUTE),
	NUMBER(3, OTLP_TABLE_LINK),
};
static const struct schema sample = SCHEMA(sample_rules);
static const struct rule profile_rules[] = {
	MESSAGE(1, &value_type),
	MESSAGE(2, &sample),
	MESSAGE(5, &value_type),
	NUMBER(11, OTLP_TABLE_ATTRIBUTE),
};
const struct schema schema_profile = SCHEMA(profile_rules);

static const struct rule mapping_rules[] = {
	NUMBER(4, OTLP_TABLE_STRING),
	NUMBER(5, OTLP_TABLE_ATTRIBUTE),
};
static const struct rule line_rules[] = { NUMBER(1, OTLP_TABLE_FUNCTION) };
static const struct schema line = SCHEMA(line_rules);
static const struct rule location_rules[] = {
	NUMBER(1, OTLP_TABLE_MAPPING),
	MESSAGE(3, &line),
	NUMBER(4, OTLP_TABLE_ATTRIBUTE),
};
static const struct rule function_rules[] = {
	NUMBER(1, OTLP_TABLE_STRING),
	NUMBER(2, OTLP_TABLE_STRING),
	NUMBER(3, OTLP_TABLE_STRING),
};
static const struct rule attribute_rules[] = {
	NUMBER(1, OTLP_TABLE_STRING),
	MESSAGE(2, &any_value),
	NUMBER(3, OTLP_TABLE_STRING),
};
static const struct rule stack_rules[] = { NUMBER(1, OTLP_TABLE_LOCATION) };

static const struct schema tables[OTLP_TABLES] = {
	[OTLP_TABLE_MAPPING] = SCHEMA(mapping_rules),
	[OTLP_TABLE_LOCATION] = SCHEMA(location_rules),
	[OTLP_TABLE_FUNCTION] = SCHEMA(function_rules),
	[OTLP_TABLE_LINK] = { NULL, 0 },
	[OTLP_TABLE_ATTRIBUTE] = SCHEMA(attribute_rules),
	[OTLP_TABLE_STACK] = SCHEMA(stack_rules),
};

const struct schema *schema_of_table(enum otlp_table t)
{
	return &tables[t];
}

static int put_number(const struct rewrite *w, enum otlp_table t, uint64_t old,
		      struct op_bytes *out)
{
	uint32_t number = 0;
	int r = w->number(w->data, t, (int32_t)(uint32_t)old, &number);

	return r ? r : wire_put_varint(out, number);
}

/* A list of numbers, packed. */
static int copy_numbers(const struct rewrite *w, const struct rule *rule,
			const struct wire_field *f, struct op_bytes *out)
{
	struct op_reader list = op_reader_init(f->bytes.data, f->bytes.len);
	size_t start;
	uint64_t old;
	int r = wire_open(out, &start);

	while (!r && op_reader_left(&list)) {
		old = op_read_uleb(&list);
		r = list.failed ? -EBADMSG : put_number(w, rule->table, old, out);
	}
	return r ? r : wire_close(out, f->number, start);
}

static int copy_message(const struct rewrite *w, const struct schema *s,
			struct otlp_text in, unsigned int depth, struct op_bytes *out);

static int copy_field(const struct rewrite *w, const struct rule *rule,
		      const struct wire_field *f, unsigned int depth,
		      struct op_bytes *out)
{
	size_t start;
	int r;

	if (rule->message && f->type == WIRE_BYTES) {
		r = wire_open(out, &start);
		if (!r)
			r = copy_message(w, rule->message, f->bytes, depth + 1, out);
		return r ? r : wire_close(out, f->number, start);
	}
	if (rule->table && f->type == WIRE_BYTES)
		return copy_numbers(w, rule, f, out);
	if (rule->table && f->type == WIRE_VARINT) {
		r = wire_put_varint(out, (uint64_t)f->number << 3 | WIRE_VARINT);
		return r ? r : put_number(w, rule->table, f->value, out);
	}
	return -EBADMSG;
}

static const struct rule *find_rule(const struct schema *s, uint32_t field)
{
	size_t i;

	for (i = 0; i < s->len; i++) {
		if (s->rules[i].field == field)
			return &s->rules[i];
	}
	return NULL;
}

static int copy_message(const struct rewrite *w, const struct schema *s,
			struct otlp_text in, unsigned int depth, struct op_bytes *out)
{
	struct op_reader reader = op_reader_init(in.data, in.len);
	const struct rule *rule;
	struct wire_field f;
	int r = 0;

	if (depth == DEPTH_MAX)
		return -EBADMSG;
	while (!r && wire_next(&reader, &f)) {
		rule = find_rule(s, f.number);
		if (!rule)
			r = op_bytes_add(out, f.whole.data, f.whole.len);
		else if (!rule->drop)
			r = copy_field(w, rule, &f, depth, out);
	}
	return !r && reader.failed ? -EBADMSG : r;
}

int rewrite_message(const struct rewrite *w, const struct schema *s, struct otlp_text in,
		    struct op_bytes *out)
{
	return copy_message(w, s, in, 0, out);
}
