/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire: protobuf fields into the tables of struct otlp_profiles. nanopb does the tags
 * and varints; its stream callback moves a cursor, so that texts can be borrowed.
 */
#include "otlp/reader.h"

#include <errno.h>
#include <pb_decode.h>
#include <stdlib.h>
#include <string.h>

struct walk {
	struct otlp_profiles *out;
	const uint8_t *pos;
	int error;
	const char *reason;
};

struct field {
	uint32_t number;
	pb_wire_type_t type;
};

typedef bool (*read_fn)(struct walk *w, pb_istream_t *s);

static bool fail(struct walk *w, int error, const char *reason)
{
	if (!w->error) {
		w->error = error;
		w->reason = reason;
	}
	return false;
}

static bool bad(struct walk *w, const char *reason)
{
	return fail(w, -EBADMSG, reason);
}

/* nanopb has checked @len against what the stream has left. */
static bool move_cursor(pb_istream_t *s, pb_byte_t *buf, size_t len)
{
	struct walk *w = s->state;

	if (buf)
		memcpy(buf, w->pos, len);
	w->pos += len;
	return true;
}

/* The next element of a table, zeroed, or NULL with the walk failed. */
static void *push(struct walk *w, void **data, uint32_t *len, uint32_t *cap, size_t size)
{
	uint32_t new_cap = *cap ? *cap * 2 : 16;
	void *p = *data;

	if (*len >= OTLP_TABLE_MAX) {
		(void)fail(w, -EFBIG, "a table is too long");
		return NULL;
	}
	if (*len == *cap) {
		p = reallocarray(p, new_cap, size);
		if (!p) {
			(void)fail(w, -ENOMEM, "out of memory");
			return NULL;
		}
		*data = p;
		*cap = new_cap;
	}
	p = (char *)p + (size_t)*len * size;
	memset(p, 0, size);
	(*len)++;
	return p;
}

#define PUSH(w, table)                                                                   \
	((__typeof__((w)->out->table.data))push(                                         \
		w, (void **)&(w)->out->table.data, &(w)->out->table.len,                 \
		&(w)->out->table.cap, sizeof(*(w)->out->table.data)))

/* False at the end of the message, and where the walk failed. */
static bool next_field(struct walk *w, pb_istream_t *s, struct field *ret)
{
	bool end = false;

	if (w->error)
		return false;
	if (pb_decode_tag(s, &ret->type, &ret->number, &end))
		return true;
	if (!end)
		(void)bad(w, "a field's tag is damaged");
	return false;
}

static bool get_varint(struct walk *w, pb_istream_t *s, const struct field *f,
		       uint64_t *ret)
{
	if (f->type != PB_WT_VARINT)
		return bad(
			w,
			"a number has another wire type: not this version of the proto?");
	return pb_decode_varint(s, ret) || bad(w, "a number is cut");
}

static bool get_u64(struct walk *w, pb_istream_t *s, const struct field *f, uint64_t *ret)
{
	return get_varint(w, s, f, ret);
}

static bool get_i64(struct walk *w, pb_istream_t *s, const struct field *f, int64_t *ret)
{
	uint64_t v = 0;

	if (!get_varint(w, s, f, &v))
		return false;
	*ret = (int64_t)v;
	return true;
}

static bool get_i32(struct walk *w, pb_istream_t *s, const struct field *f, int32_t *ret)
{
	uint64_t v = 0;

	if (!get_varint(w, s, f, &v))
		return false;
	*ret = (int32_t)(uint32_t)v;
	return true;
}

static bool get_fixed64(struct walk *w, pb_istream_t *s, const struct field *f,
			uint64_t *ret)
{
	if (f->type != PB_WT_64BIT)
		return bad(
			w,
			"a time has another wire type: not this version of the proto?");
	return pb_decode_fixed64(s, ret) || bad(w, "a time is cut");
}

static bool open_sub(struct walk *w, pb_istream_t *s, const struct field *f,
		     pb_istream_t *ret)
{
	if (f->type != PB_WT_STRING)
		return bad(w,
			   "a text or message has another wire type: not this version of "
			   "the proto?");
	return pb_make_string_substream(s, ret) ||
	       bad(w, "a text or message is longer than what holds it");
}

static bool get_text(struct walk *w, pb_istream_t *s, const struct field *f,
		     struct otlp_text *ret)
{
	pb_istream_t sub;

	if (!open_sub(w, s, f, &sub))
		return false;
	*ret = (struct otlp_text){ (const char *)w->pos, sub.bytes_left };
	w->pos += sub.bytes_left;
	return true;
}

/* Read a submessage by @fn. */
static bool get_message(struct walk *w, pb_istream_t *s, const struct field *f,
			read_fn fn)
{
	pb_istream_t sub;

	return open_sub(w, s, f, &sub) && fn(w, &sub);
}

static bool skip(struct walk *w, pb_istream_t *s, const struct field *f)
{
	return pb_skip_field(s, f->type) || bad(w, "an unknown field is cut");
}

/* A repeated scalar, packed or not, appended to a pool by @fn. A list that comes in parts
 * with others of its pool between is refused: *@range must stay one piece. */
static bool get_list(struct walk *w, pb_istream_t *s, const struct field *f,
		     bool (*fn)(struct walk *, pb_istream_t *, const struct field *),
		     pb_wire_type_t type, const uint32_t *pool_len,
		     struct otlp_range *range)
{
	struct field one = { f->number, type };
	pb_istream_t sub;

	if (!range->len)
		range->first = *pool_len;
	else if (range->first + range->len != *pool_len)
		return bad(w, "a list of numbers is in scattered parts");
	if (f->type != PB_WT_STRING) {
		if (!fn(w, s, f))
			return false;
	} else {
		if (!open_sub(w, s, f, &sub))
			return false;
		while (sub.bytes_left) {
			if (!fn(w, &sub, &one))
				return false;
		}
	}
	range->len = *pool_len - range->first;
	return true;
}

static bool add_int(struct walk *w, pb_istream_t *s, const struct field *f)
{
	int32_t *v = PUSH(w, ints);

	return v && get_i32(w, s, f, v);
}

static bool add_value(struct walk *w, pb_istream_t *s, const struct field *f)
{
	int64_t *v = PUSH(w, values);

	return v && get_i64(w, s, f, v);
}

static bool add_timestamp(struct walk *w, pb_istream_t *s, const struct field *f)
{
	uint64_t *v = PUSH(w, timestamps);

	return v && get_fixed64(w, s, f, v);
}

static bool get_ints(struct walk *w, pb_istream_t *s, const struct field *f,
		     struct otlp_range *range)
{
	return get_list(w, s, f, add_int, PB_WT_VARINT, &w->out->ints.len, range);
}

static struct otlp_text rest(const struct walk *w, const pb_istream_t *s)
{
	return (struct otlp_text){ (const char *)w->pos, s->bytes_left };
}

/* common.AnyValue */
static bool read_any(struct walk *w, pb_istream_t *s, struct otlp_attribute *a)
{
	struct field f;

	while (next_field(w, s, &f)) {
		if (f.number == 0 || f.number > OTLP_VALUE_REF) {
			(void)skip(w, s, &f);
			continue;
		}
		a->kind = (enum otlp_value_kind)f.number;
		switch (a->kind) {
		case OTLP_VALUE_BOOL:
		case OTLP_VALUE_INT:
		case OTLP_VALUE_REF:
			(void)get_i64(w, s, &f, &a->integer);
			break;
		case OTLP_VALUE_DOUBLE:
			(void)skip(w, s, &f);
			break;
		default:
			(void)get_text(w, s, &f, &a->text);
		}
	}
	return !w->error;
}

static bool get_any(struct walk *w, pb_istream_t *s, const struct field *f,
		    struct otlp_attribute *a)
{
	pb_istream_t sub;

	return open_sub(w, s, f, &sub) && read_any(w, &sub, a);
}

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

static bool read_dictionary(struct walk *w, pb_istream_t *s)
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
			(void)get_message(w, s, &f, read_dictionary);
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
