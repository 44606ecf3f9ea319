/* SPDX-License-Identifier: Apache-2.0 */
/* The seven tables of ProfilesDictionary. */
#include "walk.h"

/* An entry with a copy of its bytes' place, by which two entries are compared. */
#define READ_ENTRY(w, s, table, rules)                                                   \
	({                                                                               \
		__typeof__((w)->out->table.data) _e = PUSH(w, table);                    \
                                                                                         \
		if (_e)                                                                  \
			_e->raw = rest(w, s);                                            \
		_e &&READ_FIELDS(w, s, rules, _e);                                       \
	})

static bool read_dictionary_attribute(struct walk *w, pb_istream_t *s)
{
	static const struct field_rule rules[] = {
		FIELD(1, struct otlp_attribute, key_ref),
		{ 2, FIELD_ANY, 0, NULL },
		FIELD(3, struct otlp_attribute, unit),
	};

	return READ_ENTRY(w, s, attributes, rules);
}

static bool read_function(struct walk *w, pb_istream_t *s)
{
	static const struct field_rule rules[] = {
		FIELD(1, struct otlp_function, name),
		FIELD(2, struct otlp_function, system_name),
		FIELD(3, struct otlp_function, file),
		FIELD(4, struct otlp_function, start_line),
	};

	return READ_ENTRY(w, s, functions, rules);
}

static bool read_mapping(struct walk *w, pb_istream_t *s)
{
	static const struct field_rule rules[] = {
		FIELD(1, struct otlp_mapping, start),
		FIELD(2, struct otlp_mapping, limit),
		FIELD(3, struct otlp_mapping, offset),
		FIELD(4, struct otlp_mapping, file),
		FIELD(5, struct otlp_mapping, attributes),
	};

	return READ_ENTRY(w, s, mappings, rules);
}

static bool read_line(struct walk *w, pb_istream_t *s)
{
	static const struct field_rule rules[] = {
		FIELD(1, struct otlp_line, function),
		FIELD(2, struct otlp_line, line),
		FIELD(3, struct otlp_line, column),
	};
	struct otlp_line *e = PUSH(w, lines);

	return e && READ_FIELDS(w, s, rules, e);
}

static bool read_location(struct walk *w, pb_istream_t *s)
{
	static const struct field_rule rules[] = {
		FIELD(1, struct otlp_location, mapping),
		FIELD(2, struct otlp_location, address),
		MESSAGE(3, read_line),
		FIELD(4, struct otlp_location, attributes),
	};
	uint32_t first = w->out->lines.len;
	struct otlp_location *e;

	if (!READ_ENTRY(w, s, locations, rules))
		return false;
	e = &w->out->locations.data[w->out->locations.len - 1];
	e->lines = (struct otlp_range){ first, w->out->lines.len - first };
	return true;
}

static bool read_stack(struct walk *w, pb_istream_t *s)
{
	static const struct field_rule rules[] = { FIELD(1, struct otlp_stack,
							 locations) };

	return READ_ENTRY(w, s, stacks, rules);
}

static bool read_link(struct walk *w, pb_istream_t *s)
{
	static const struct field_rule rules[] = {
		FIELD(1, struct otlp_link, trace_id),
		FIELD(2, struct otlp_link, span_id),
	};

	return READ_ENTRY(w, s, links, rules);
}

static bool read_string(struct walk *w, pb_istream_t *s)
{
	struct otlp_text *text = PUSH(w, strings);

	if (!text)
		return false;
	*text = rest(w, s);
	w->pos += text->len;
	return true;
}

bool otlp_read_dictionary(struct walk *w, pb_istream_t *s)
{
	static const struct field_rule rules[] = {
		MESSAGE(1, read_mapping),  MESSAGE(2, read_location),
		MESSAGE(3, read_function), MESSAGE(4, read_link),
		MESSAGE(5, read_string),   MESSAGE(6, read_dictionary_attribute),
		MESSAGE(7, read_stack),
	};

	return READ_FIELDS(w, s, rules, w->out);
}

struct otlp_text otlp_table_entry(const struct otlp_profiles *p, enum otlp_table table,
				  uint32_t i)
{
	switch (table) {
	case OTLP_TABLE_MAPPING:
		return p->mappings.data[i].raw;
	case OTLP_TABLE_LOCATION:
		return p->locations.data[i].raw;
	case OTLP_TABLE_FUNCTION:
		return p->functions.data[i].raw;
	case OTLP_TABLE_LINK:
		return p->links.data[i].raw;
	case OTLP_TABLE_STRING:
		return p->strings.data[i];
	case OTLP_TABLE_ATTRIBUTE:
		return p->attributes.data[i].raw;
	default:
		return p->stacks.data[i].raw;
	}
}

uint32_t otlp_table_len(const struct otlp_profiles *p, enum otlp_table table)
{
	switch (table) {
	case OTLP_TABLE_MAPPING:
		return p->mappings.len;
	case OTLP_TABLE_LOCATION:
		return p->locations.len;
	case OTLP_TABLE_FUNCTION:
		return p->functions.len;
	case OTLP_TABLE_LINK:
		return p->links.len;
	case OTLP_TABLE_STRING:
		return p->strings.len;
	case OTLP_TABLE_ATTRIBUTE:
		return p->attributes.len;
	default:
		return p->stacks.len;
	}
}
