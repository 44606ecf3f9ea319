/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over a request: protobuf fields into the tables of struct otlp_profiles. nanopb
 * does the tags and varints; its stream callback moves a cursor, so that texts can be
 * borrowed. For reader.c and dictionary.c.
 */
#ifndef OTLP_WALK_H
#define OTLP_WALK_H

#include <errno.h>
#include <pb_decode.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "otlp/reader.h"

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

static inline bool fail(struct walk *w, int error, const char *reason)
{
	if (!w->error) {
		w->error = error;
		w->reason = reason;
	}
	return false;
}

static inline bool bad(struct walk *w, const char *reason)
{
	return fail(w, -EBADMSG, reason);
}

/* nanopb has checked @len against what the stream has left. */
static inline bool move_cursor(pb_istream_t *s, pb_byte_t *buf, size_t len)
{
	struct walk *w = s->state;

	if (buf)
		memcpy(buf, w->pos, len);
	w->pos += len;
	return true;
}

/* The next element of a table, zeroed, or NULL with the walk failed. */
static inline void *push(struct walk *w, void **data, uint32_t *len, uint32_t *cap,
			 size_t size, uint32_t max)
{
	uint32_t new_cap = *cap ? *cap * 2 : 16;
	void *p = *data;

	if (*len >= max) {
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

#define PUSH_UP_TO(w, table, max)                                                        \
	((__typeof__((w)->out->table.data))push(                                         \
		w, (void **)&(w)->out->table.data, &(w)->out->table.len,                 \
		&(w)->out->table.cap, sizeof(*(w)->out->table.data), max))
#define PUSH(w, table)	      PUSH_UP_TO(w, table, OTLP_TABLE_MAX)
#define PUSH_NUMBER(w, table) PUSH_UP_TO(w, table, OTLP_NUMBERS_MAX)

/* False at the end of the message, and where the walk failed. */
static inline bool next_field(struct walk *w, pb_istream_t *s, struct field *ret)
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

static inline bool get_varint(struct walk *w, pb_istream_t *s, const struct field *f,
			      uint64_t *ret)
{
	if (f->type != PB_WT_VARINT)
		return bad(
			w,
			"a number has another wire type: not this version of the proto?");
	return pb_decode_varint(s, ret) || bad(w, "a number is cut");
}

static inline bool get_u64(struct walk *w, pb_istream_t *s, const struct field *f,
			   uint64_t *ret)
{
	return get_varint(w, s, f, ret);
}

static inline bool get_i64(struct walk *w, pb_istream_t *s, const struct field *f,
			   int64_t *ret)
{
	uint64_t v = 0;

	if (!get_varint(w, s, f, &v))
		return false;
	*ret = (int64_t)v;
	return true;
}

static inline bool get_i32(struct walk *w, pb_istream_t *s, const struct field *f,
			   int32_t *ret)
{
	uint64_t v = 0;

	if (!get_varint(w, s, f, &v))
		return false;
	*ret = (int32_t)(uint32_t)v;
	return true;
}

static inline bool get_fixed64(struct walk *w, pb_istream_t *s, const struct field *f,
			       uint64_t *ret)
{
	if (f->type != PB_WT_64BIT)
		return bad(
			w,
			"a time has another wire type: not this version of the proto?");
	return pb_decode_fixed64(s, ret) || bad(w, "a time is cut");
}

static inline bool open_sub(struct walk *w, pb_istream_t *s, const struct field *f,
			    pb_istream_t *ret)
{
	if (f->type != PB_WT_STRING)
		return bad(w,
			   "a text or message has another wire type: not this version of "
			   "the proto?");
	return pb_make_string_substream(s, ret) ||
	       bad(w, "a text or message is longer than what holds it");
}

static inline bool get_text(struct walk *w, pb_istream_t *s, const struct field *f,
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
static inline bool get_message(struct walk *w, pb_istream_t *s, const struct field *f,
			       read_fn fn)
{
	pb_istream_t sub;

	return open_sub(w, s, f, &sub) && fn(w, &sub);
}

static inline bool skip(struct walk *w, pb_istream_t *s, const struct field *f)
{
	return pb_skip_field(s, f->type) || bad(w, "an unknown field is cut");
}

/* A repeated scalar, packed or not, appended to a pool by @fn. A list that comes in parts
 * with others of its pool between is refused: *@range must stay one piece. */
static inline bool
get_list(struct walk *w, pb_istream_t *s, const struct field *f,
	 bool (*fn)(struct walk *, pb_istream_t *, const struct field *),
	 pb_wire_type_t type, const uint32_t *pool_len, struct otlp_range *range)
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

static inline bool add_int(struct walk *w, pb_istream_t *s, const struct field *f)
{
	int32_t *v = PUSH_NUMBER(w, ints);

	return v && get_i32(w, s, f, v);
}

static inline bool add_value(struct walk *w, pb_istream_t *s, const struct field *f)
{
	int64_t *v = PUSH_NUMBER(w, values);

	return v && get_i64(w, s, f, v);
}

static inline bool add_timestamp(struct walk *w, pb_istream_t *s, const struct field *f)
{
	uint64_t *v = PUSH_NUMBER(w, timestamps);

	return v && get_fixed64(w, s, f, v);
}

static inline bool get_ints(struct walk *w, pb_istream_t *s, const struct field *f,
			    struct otlp_range *range)
{
	return get_list(w, s, f, add_int, PB_WT_VARINT, &w->out->ints.len, range);
}

static inline struct otlp_text rest(const struct walk *w, const pb_istream_t *s)
{
	return (struct otlp_text){ (const char *)w->pos, s->bytes_left };
}

/* common.AnyValue */
static inline bool read_any(struct walk *w, pb_istream_t *s, struct otlp_attribute *a)
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

static inline bool get_any(struct walk *w, pb_istream_t *s, const struct field *f,
			   struct otlp_attribute *a)
{
	pb_istream_t sub;

	return open_sub(w, s, f, &sub) && read_any(w, &sub, a);
}

/* A message's fields as a table. Where a field goes says its C type, which says how it is read. */
enum field_kind {
	FIELD_I32,
	FIELD_I64,
	FIELD_U64,
	FIELD_FIXED64,
	FIELD_TEXT,
	FIELD_INTS,
	FIELD_VALUES,
	FIELD_TIMESTAMPS,
	FIELD_ANY,
	FIELD_MESSAGE,
};

struct field_rule {
	uint32_t number;
	enum field_kind kind;
	size_t offset;
	read_fn read;
};

#define FIELD(number, type, member)                                                      \
	{                                                                                \
		number,                                                                  \
			_Generic(((type *)0)->member, int32_t                            \
				 : FIELD_I32, int64_t                                    \
				 : FIELD_I64, uint64_t                                   \
				 : FIELD_U64, struct otlp_text                           \
				 : FIELD_TEXT, struct otlp_range                         \
				 : FIELD_INTS),                                          \
			offsetof(type, member), NULL                                     \
	}
#define FIELD_AS(number, type, member, kind)                                             \
	{                                                                                \
		number, kind, offsetof(type, member), NULL                               \
	}
#define MESSAGE(number, fn)                                                              \
	{                                                                                \
		number, FIELD_MESSAGE, 0, fn                                             \
	}

static inline bool read_field(struct walk *w, pb_istream_t *s, const struct field *f,
			      const struct field_rule *rule, void *to)
{
	struct otlp_profiles *p = w->out;

	switch (rule->kind) {
	case FIELD_I32:
		return get_i32(w, s, f, to);
	case FIELD_I64:
		return get_i64(w, s, f, to);
	case FIELD_U64:
		return get_u64(w, s, f, to);
	case FIELD_FIXED64:
		return get_fixed64(w, s, f, to);
	case FIELD_TEXT:
		return get_text(w, s, f, to);
	case FIELD_INTS:
		return get_ints(w, s, f, to);
	case FIELD_VALUES:
		return get_list(w, s, f, add_value, PB_WT_VARINT, &p->values.len, to);
	case FIELD_TIMESTAMPS:
		return get_list(w, s, f, add_timestamp, PB_WT_64BIT, &p->timestamps.len,
				to);
	case FIELD_ANY:
		return get_any(w, s, f, to);
	default:
		return get_message(w, s, f, rule->read);
	}
}

/* Read a message into @to, the last entry of its table; fields without a rule are skipped. */
static inline bool read_fields(struct walk *w, pb_istream_t *s,
			       const struct field_rule *rules, size_t len, void *to)
{
	struct field f;
	size_t i;

	while (next_field(w, s, &f)) {
		for (i = 0; i < len && rules[i].number != f.number; i++)
			;
		if (i < len)
			(void)read_field(w, s, &f, &rules[i],
					 (char *)to + rules[i].offset);
		else
			(void)skip(w, s, &f);
	}
	return !w->error;
}

#define READ_FIELDS(w, s, rules, to)                                                     \
	read_fields(w, s, rules, sizeof(rules) / sizeof(*(rules)), to)

/* dictionary.c: ProfilesDictionary. */
bool otlp_read_dictionary(struct walk *w, pb_istream_t *s);

#endif
