/* SPDX-License-Identifier: Apache-2.0 */
/* The seven tables of ProfilesDictionary. */
#include "walk.h"

static bool read_dictionary_attribute(struct walk *w, pb_istream_t *s)
{
	struct otlp_attribute *a = PUSH(w, attributes);
	struct field f;

	if (!a)
		return false;
	a->raw = rest(w, s);
	while (next_field(w, s, &f)) {
		if (f.number == 1)
			(void)get_i32(w, s, &f, &a->key_ref);
		else if (f.number == 2)
			(void)get_any(w, s, &f, a);
		else if (f.number == 3)
			(void)get_i32(w, s, &f, &a->unit);
		else
			(void)skip(w, s, &f);
	}
	return !w->error;
}

static bool read_function(struct walk *w, pb_istream_t *s)
{
	struct otlp_function *e = PUSH(w, functions);
	struct field f;

	if (!e)
		return false;
	e->raw = rest(w, s);
	while (next_field(w, s, &f)) {
		if (f.number == 1)
			(void)get_i32(w, s, &f, &e->name);
		else if (f.number == 2)
			(void)get_i32(w, s, &f, &e->system_name);
		else if (f.number == 3)
			(void)get_i32(w, s, &f, &e->file);
		else if (f.number == 4)
			(void)get_i64(w, s, &f, &e->start_line);
		else
			(void)skip(w, s, &f);
	}
	return !w->error;
}

static bool read_mapping(struct walk *w, pb_istream_t *s)
{
	struct otlp_mapping *e = PUSH(w, mappings);
	struct field f;

	if (!e)
		return false;
	e->raw = rest(w, s);
	while (next_field(w, s, &f)) {
		if (f.number == 1)
			(void)get_u64(w, s, &f, &e->start);
		else if (f.number == 2)
			(void)get_u64(w, s, &f, &e->limit);
		else if (f.number == 3)
			(void)get_u64(w, s, &f, &e->offset);
		else if (f.number == 4)
			(void)get_i32(w, s, &f, &e->file);
		else if (f.number == 5)
			(void)get_ints(w, s, &f, &e->attributes);
		else
			(void)skip(w, s, &f);
	}
	return !w->error;
}

static bool read_line(struct walk *w, pb_istream_t *s)
{
	struct otlp_line *e = PUSH(w, lines);
	struct field f;

	if (!e)
		return false;
	while (next_field(w, s, &f)) {
		if (f.number == 1)
			(void)get_i32(w, s, &f, &e->function);
		else if (f.number == 2)
			(void)get_i64(w, s, &f, &e->line);
		else if (f.number == 3)
			(void)get_i64(w, s, &f, &e->column);
		else
			(void)skip(w, s, &f);
	}
	return !w->error;
}

static bool read_location(struct walk *w, pb_istream_t *s)
{
	struct otlp_location *e = PUSH(w, locations);
	struct field f;

	if (!e)
		return false;
	e->raw = rest(w, s);
	e->lines.first = w->out->lines.len;
	while (next_field(w, s, &f)) {
		if (f.number == 1)
			(void)get_i32(w, s, &f, &e->mapping);
		else if (f.number == 2)
			(void)get_u64(w, s, &f, &e->address);
		else if (f.number == 3)
			(void)get_message(w, s, &f, read_line);
		else if (f.number == 4)
			(void)get_ints(w, s, &f, &e->attributes);
		else
			(void)skip(w, s, &f);
	}
	e->lines.len = w->out->lines.len - e->lines.first;
	return !w->error;
}

static bool read_stack(struct walk *w, pb_istream_t *s)
{
	struct otlp_stack *e = PUSH(w, stacks);
	struct field f;

	if (!e)
		return false;
	e->raw = rest(w, s);
	while (next_field(w, s, &f)) {
		if (f.number == 1)
			(void)get_ints(w, s, &f, &e->locations);
		else
			(void)skip(w, s, &f);
	}
	return !w->error;
}

static bool read_link(struct walk *w, pb_istream_t *s)
{
	struct otlp_link *e = PUSH(w, links);
	struct field f;

	if (!e)
		return false;
	e->raw = rest(w, s);
	while (next_field(w, s, &f)) {
		if (f.number == 1)
			(void)get_text(w, s, &f, &e->trace_id);
		else if (f.number == 2)
			(void)get_text(w, s, &f, &e->span_id);
		else
			(void)skip(w, s, &f);
	}
	return !w->error;
}

bool otlp_read_dictionary(struct walk *w, pb_istream_t *s)
{
	static const read_fn tables[] = {
		[1] = read_mapping,
		[2] = read_location,
		[3] = read_function,
		[4] = read_link,
		[6] = read_dictionary_attribute,
		[7] = read_stack,
	};
	struct otlp_text *text;
	struct field f;

	while (next_field(w, s, &f)) {
		if (f.number == 5) {
			text = PUSH(w, strings);
			if (text)
				(void)get_text(w, s, &f, text);
		} else if (f.number < sizeof(tables) / sizeof(*tables) &&
			   tables[f.number]) {
			(void)get_message(w, s, &f, tables[f.number]);
		} else {
			(void)skip(w, s, &f);
		}
	}
	return !w->error;
}
