/* SPDX-License-Identifier: Apache-2.0 */
/* Adds entries to a request's dictionary at their first reference, and removes them on
 * rollback. */
#include "profile/otlp/otlp_request.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiles.pb.h"

/* Field numbers of ProfilesDictionary. */
static const uint32_t FIELD[OP_DICTIONARY_TABLES] = {
	[OP_TABLE_STRING] = otlp_ProfilesDictionary_string_table_tag,
	[OP_TABLE_ATTRIBUTE] = otlp_ProfilesDictionary_attribute_table_tag,
	[OP_TABLE_FUNCTION] = otlp_ProfilesDictionary_function_table_tag,
	[OP_TABLE_MAPPING] = otlp_ProfilesDictionary_mapping_table_tag,
	[OP_TABLE_LOCATION] = otlp_ProfilesDictionary_location_table_tag,
	[OP_TABLE_LINK] = otlp_ProfilesDictionary_link_table_tag,
	[OP_TABLE_STACK] = otlp_ProfilesDictionary_stack_table_tag,
};

int op_dictionary_init(struct op_dictionary *d, const struct op_window *w)
{
	const size_t len[OP_DICTIONARY_TABLES] = {
		[OP_TABLE_STRING] = w->strings.len + OP_DICTIONARY_STRINGS_MAX,
		[OP_TABLE_ATTRIBUTE] = w->attributes.len + OP_DICTIONARY_ATTRIBUTES_MAX,
		[OP_TABLE_FUNCTION] = w->functions.len,
		[OP_TABLE_MAPPING] = w->mappings.len,
		[OP_TABLE_LOCATION] = w->locations.len,
		[OP_TABLE_LINK] = w->links.len,
		[OP_TABLE_STACK] = w->stacks.len,
	};
	size_t i;

	memset(d, 0, sizeof(*d));
	d->w = w;
	for (i = 0; i < OP_DICTIONARY_TABLES; i++) {
		d->table[i].numbers = calloc(len[i], sizeof(*d->table[i].numbers));
		if (!d->table[i].numbers)
			return -ENOMEM;
	}
	return 0;
}

void op_dictionary_deinit(struct op_dictionary *d)
{
	size_t i;

	for (i = 0; i < OP_DICTIONARY_TABLES; i++) {
		free(d->table[i].numbers);
		op_vec_clear(&d->table[i].list);
		op_vec_clear(&d->table[i].bytes);
	}
	op_vec_clear(&d->scratch);
}

int op_dictionary_begin(struct op_dictionary *d)
{
	const struct op_dictionary_mark nothing = { 0 };
	size_t i;

	op_dictionary_rollback(d, &nothing);
	for (i = 0; i < OP_DICTIONARY_TABLES; i++)
		if (op_bytes_head(&d->table[i].bytes, FIELD[i], 0))
			return -ENOMEM;
	return 0;
}

void op_dictionary_mark(const struct op_dictionary *d, struct op_dictionary_mark *ret)
{
	size_t i;

	for (i = 0; i < OP_DICTIONARY_TABLES; i++) {
		ret->list[i] = d->table[i].list.len;
		ret->bytes[i] = d->table[i].bytes.len;
	}
}

void op_dictionary_rollback(struct op_dictionary *d,
			    const struct op_dictionary_mark *mark)
{
	size_t i;

	for (i = 0; i < OP_DICTIONARY_TABLES; i++) {
		struct op_dictionary_table *t = &d->table[i];

		while (t->list.len > mark->list[i])
			t->numbers[t->list.data[--t->list.len]] = 0;
		t->bytes.len = mark->bytes[i];
	}
}

size_t op_dictionary_bytes(const struct op_dictionary *d)
{
	size_t sum = 0;
	size_t i;

	for (i = 0; i < OP_DICTIONARY_TABLES; i++)
		sum += d->table[i].bytes.len;
	return sum;
}

int op_dictionary_put(const struct op_dictionary *d, struct op_bytes *b)
{
	size_t i;

	for (i = 0; i < OP_DICTIONARY_TABLES; i++)
		if (op_bytes_add(b, d->table[i].bytes.data, d->table[i].bytes.len))
			return -ENOMEM;
	return 0;
}

uint32_t op_dictionary_string(struct op_dictionary *d, const char *s)
{
	uint32_t number = op_window_find_string(d->w, s, strlen(s));
	uint32_t i;

	if (number != UINT32_MAX)
		return number;
	for (i = 0; i < d->strings_len; i++)
		if (!strcmp(d->strings[i], s))
			break;
	assert(i < OP_DICTIONARY_STRINGS_MAX);
	if (i == d->strings_len)
		d->strings[d->strings_len++] = s;
	return (uint32_t)d->w->strings.len + i;
}

uint32_t op_dictionary_attribute(struct op_dictionary *d, const char *key, int64_t value)
{
	const struct op_attribute a = { .key = op_dictionary_string(d, key),
					.integer = value,
					.is_int = 1 };
	uint32_t number = op_window_find_attribute(d->w, &a);
	uint32_t i;

	if (number != UINT32_MAX)
		return number;
	for (i = 0; i < d->attributes_len; i++)
		if (d->attributes[i].key == a.key && d->attributes[i].integer == value)
			break;
	assert(i < OP_DICTIONARY_ATTRIBUTES_MAX);
	if (i == d->attributes_len)
		d->attributes[d->attributes_len++] = a;
	return (uint32_t)d->w->attributes.len + i;
}

static int add_string(struct op_dictionary *d, uint32_t entry)
{
	struct op_bytes *b = &d->table[OP_TABLE_STRING].bytes;
	const struct op_window *w = d->w;
	const char *s;

	if (entry < w->strings.len)
		return op_bytes_field(b, FIELD[OP_TABLE_STRING],
				      op_window_chars(w, entry),
				      w->strings.data[entry].len);
	s = d->strings[entry - w->strings.len];
	return op_bytes_field(b, FIELD[OP_TABLE_STRING], s, strlen(s));
}

/* Append @message, which is an entry of the window's table @t, to its encoded table. */
static int put(struct op_dictionary *d, enum op_window_table t, const pb_msgdesc_t *desc,
	       const void *message, size_t bound)
{
	return op_bytes_message(&d->table[t].bytes, FIELD[t], desc, message, bound);
}

static int add_attribute(struct op_dictionary *d, uint32_t entry)
{
	const struct op_attribute *a =
		entry < d->w->attributes.len
			? &d->w->attributes.data[entry]
			: &d->attributes[entry - d->w->attributes.len];
	otlp_KeyValueAndUnit m = otlp_KeyValueAndUnit_init_zero;
	size_t bound = 2 * (OP_TAG_BYTES + OP_INT32_BYTES) + 2 * OP_FIELD_BYTES;
	int r;

	r = op_dictionary_ref(d, OP_TABLE_STRING, a->key, &m.key_strindex);
	if (r >= 0)
		r = op_dictionary_ref(d, OP_TABLE_STRING, a->unit, &m.unit_strindex);
	if (r < 0)
		return r;
	m.has_value = true;
	if (a->is_int) {
		m.value.which_value = otlp_AnyValue_int_value_tag;
		m.value.value.int_value = a->integer;
		bound += OP_INT64_BYTES;
	} else {
		m.value.which_value = otlp_AnyValue_string_value_tag;
		m.value.value.string_value =
			d->w->chars.data + d->w->strings.data[a->string].first;
		bound += d->w->strings.data[a->string].len;
	}
	return put(d, OP_TABLE_ATTRIBUTE, &otlp_KeyValueAndUnit_msg, &m, bound);
}

static int add_function(struct op_dictionary *d, uint32_t entry)
{
	const struct op_function *f = &d->w->functions.data[entry];
	otlp_Function m = { .start_line = f->start_line };
	int r;

	r = op_dictionary_ref(d, OP_TABLE_STRING, f->name, &m.name_strindex);
	if (r >= 0)
		r = op_dictionary_ref(d, OP_TABLE_STRING, f->system_name,
				      &m.system_name_strindex);
	if (r >= 0)
		r = op_dictionary_ref(d, OP_TABLE_STRING, f->file, &m.filename_strindex);
	if (r < 0)
		return r;
	return put(d, OP_TABLE_FUNCTION, &otlp_Function_msg, &m, otlp_Function_size);
}

static int add_mapping(struct op_dictionary *d, uint32_t entry)
{
	const struct op_mapping_entry *e = &d->w->mappings.data[entry];
	int32_t attributes[OP_ATTRIBUTES_MAX];
	otlp_Mapping m = {
		.memory_start = e->start,
		.memory_limit = e->limit,
		.file_offset = e->offset,
		.attribute_indices = attributes,
		.attribute_indices_count = (pb_size_t)e->attributes.len,
	};
	int r;

	r = op_dictionary_ref(d, OP_TABLE_STRING, e->file, &m.filename_strindex);
	if (r >= 0)
		r = op_dictionary_refs(d, OP_TABLE_ATTRIBUTE,
				       op_window_numbers(d->w, e->attributes),
				       e->attributes.len, attributes);
	if (r < 0)
		return r;
	return put(d, OP_TABLE_MAPPING, &otlp_Mapping_msg, &m,
		   3 * (OP_TAG_BYTES + OP_INT64_BYTES) + OP_TAG_BYTES + OP_INT32_BYTES +
			   OP_FIELD_BYTES + OP_INT32_BYTES * e->attributes.len);
}

static int add_location(struct op_dictionary *d, uint32_t entry)
{
	const struct op_location_entry *e = &d->w->locations.data[entry];
	int32_t attributes[OP_ATTRIBUTES_MAX];
	otlp_Line lines[OP_LINES_MAX] = { 0 };
	otlp_Location m = {
		.address = e->address,
		.lines = lines,
		.lines_count = (pb_size_t)e->lines.len,
		.attribute_indices = attributes,
		.attribute_indices_count = (pb_size_t)e->attributes.len,
	};
	uint32_t i;
	int r;

	r = op_dictionary_ref(d, OP_TABLE_MAPPING, e->mapping, &m.mapping_index);
	if (r >= 0)
		r = op_dictionary_refs(d, OP_TABLE_ATTRIBUTE,
				       op_window_numbers(d->w, e->attributes),
				       e->attributes.len, attributes);
	for (i = 0; i < e->lines.len && r >= 0; i++) {
		const struct op_line *l = &d->w->lines.data[e->lines.first + i];

		r = op_dictionary_ref(d, OP_TABLE_FUNCTION, l->function,
				      &lines[i].function_index);
		lines[i].line = l->line;
		lines[i].column = l->column;
	}
	if (r < 0)
		return r;
	return put(d, OP_TABLE_LOCATION, &otlp_Location_msg, &m,
		   2 * (OP_TAG_BYTES + OP_INT64_BYTES) +
			   e->lines.len * (OP_FIELD_BYTES + otlp_Line_size) +
			   OP_FIELD_BYTES + OP_INT32_BYTES * e->attributes.len);
}

/* The layout that a nanopb bytes field points to. */
#define BYTES(n)                                                                         \
	struct {                                                                         \
		pb_size_t size;                                                          \
		pb_byte_t bytes[n];                                                      \
	}

static int add_link(struct op_dictionary *d, uint32_t entry)
{
	const struct op_link *l = &d->w->links.data[entry];
	BYTES(sizeof(l->trace_id)) trace = { .size = sizeof(l->trace_id) };
	BYTES(sizeof(l->span_id)) span = { .size = sizeof(l->span_id) };
	otlp_Link m = { (pb_bytes_array_t *)&trace, (pb_bytes_array_t *)&span };

	memcpy(trace.bytes, l->trace_id, sizeof(l->trace_id));
	memcpy(span.bytes, l->span_id, sizeof(l->span_id));
	return put(d, OP_TABLE_LINK, &otlp_Link_msg, &m,
		   2 * OP_FIELD_BYTES + sizeof(trace) + sizeof(span));
}

static int add_stack(struct op_dictionary *d, uint32_t entry)
{
	struct op_span span = d->w->stacks.data[entry];
	otlp_Stack m = { .location_indices_count = (pb_size_t)span.len };
	int r;

	if (span.len > OP_OTLP_LIST_MAX)
		return -ENOSPC;
	d->scratch.len = 0;
	if (op_vec_reserve(&d->scratch, span.len))
		return -ENOMEM;
	r = op_dictionary_refs(d, OP_TABLE_LOCATION, op_window_numbers(d->w, span),
			       span.len, d->scratch.data);
	if (r < 0)
		return r;
	m.location_indices = d->scratch.data;
	return put(d, OP_TABLE_STACK, &otlp_Stack_msg, &m,
		   OP_FIELD_BYTES + OP_INT32_BYTES * span.len);
}

static int (*const ADD[OP_DICTIONARY_TABLES])(struct op_dictionary *d, uint32_t entry) = {
	[OP_TABLE_STRING] = add_string,	    [OP_TABLE_ATTRIBUTE] = add_attribute,
	[OP_TABLE_FUNCTION] = add_function, [OP_TABLE_MAPPING] = add_mapping,
	[OP_TABLE_LOCATION] = add_location, [OP_TABLE_LINK] = add_link,
	[OP_TABLE_STACK] = add_stack,
};

int op_dictionary_ref(struct op_dictionary *d, enum op_window_table table, uint32_t entry,
		      int32_t *ret)
{
	struct op_dictionary_table *t = &d->table[table];
	int r;

	if (!entry || t->numbers[entry]) {
		*ret = (int32_t)t->numbers[entry];
		return 0;
	}
	/* Entry 0 exists, but is not in the list. */
	if (t->list.len + 1 >= OP_OTLP_LIST_MAX)
		return -ENOSPC;
	if (op_vec_reserve(&t->list, 1))
		return -ENOMEM;
	r = ADD[table](d, entry);
	if (r < 0)
		return r;
	t->list.data[t->list.len++] = entry;
	t->numbers[entry] = (uint32_t)t->list.len;
	*ret = (int32_t)t->list.len;
	return 0;
}

int op_dictionary_refs(struct op_dictionary *d, enum op_window_table t,
		       const uint32_t *in, size_t len, int32_t *ret)
{
	size_t i;
	int r;

	for (i = 0; i < len; i++) {
		r = op_dictionary_ref(d, t, in[i], &ret[i]);
		if (r < 0)
			return r;
	}
	return 0;
}
