/* SPDX-License-Identifier: Apache-2.0 */
#include "process/context/schema.h"

#include <errno.h>
#include <pb_decode.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* ProcessContext, KeyValue, AnyValue, ArrayValue (proto 1.11) */
	CONTEXT_ATTRIBUTES = 2,
	PAIR_KEY = 1,
	PAIR_VALUE = 2,
	ANY_STRING = 1,
	ANY_ARRAY = 5,
	ARRAY_VALUES = 1,
	KEY_BYTES = 64, /* no known key is longer */
};

static const char VERSION_KEY[] = "threadlocal.schema_version";
static const char NAMES_KEY[] = "threadlocal.attribute_key_map";

/* One attribute. Its key may come after its value. */
struct pair {
	char key[KEY_BYTES + 1];
	char text[KEY_BYTES + 1];
	struct op_schema list;
};

typedef bool (*field_fn)(pb_istream_t *s, uint32_t number, void *ctx);

/* Call @fn for each field of type bytes, and skip the others. Nested messages are not
 * entered. */
static bool each_field(pb_istream_t *s, field_fn fn, void *ctx)
{
	while (s->bytes_left) {
		pb_wire_type_t type;
		pb_istream_t sub;
		uint32_t number;
		bool end = false;

		if (!pb_decode_tag(s, &type, &number, &end) || !number)
			return false;
		if (type != PB_WT_STRING) {
			if (!pb_skip_field(s, type))
				return false;
			continue;
		}
		if (!pb_make_string_substream(s, &sub) || !fn(&sub, number, ctx) ||
		    !pb_close_string_substream(s, &sub))
			return false;
	}
	return true;
}

/* Read a text of at most @max bytes and add a NUL. "" if it is longer or contains a
 * NUL. */
static bool read_text(pb_istream_t *s, char *ret, size_t max)
{
	size_t len = s->bytes_left;

	ret[0] = 0;
	if (len > max)
		return true;
	if (!pb_read(s, (pb_byte_t *)ret, len))
		return false;
	ret[len] = 0;
	if (strlen(ret) != len)
		ret[0] = 0;
	return true;
}

static bool take_name(pb_istream_t *s, uint32_t number, void *ctx)
{
	char *name = ctx;

	return number != ANY_STRING || read_text(s, name, OP_SCHEMA_NAME_MAX);
}

/* Add one name. Its number is its index in the list, so a refused name becomes "". */
static bool take_element(pb_istream_t *s, uint32_t number, void *ctx)
{
	struct op_schema *list = ctx;
	char name[OP_SCHEMA_NAME_MAX + 1] = "";

	if (number != ARRAY_VALUES)
		return true;
	if (!each_field(s, take_name, name))
		return false;
	if (list->keys_len == OP_SCHEMA_KEYS_MAX) {
		list->cut++;
		return true;
	}
	if (list->text.len + strlen(name) + 1 > OP_SCHEMA_BYTES_MAX)
		name[0] = 0;
	list->cut += !name[0];
	/* past the limit all names share the last NUL */
	if (list->text.len + 1 > OP_SCHEMA_BYTES_MAX) {
		list->key[list->keys_len++] = OP_SCHEMA_BYTES_MAX - 1;
		return true;
	}
	list->key[list->keys_len++] = (uint16_t)list->text.len;
	op_strbuf_add(&list->text, name, strlen(name) + 1);
	return true;
}

static bool take_value(pb_istream_t *s, uint32_t number, void *ctx)
{
	struct pair *pair = ctx;

	if (number == ANY_STRING)
		return read_text(s, pair->text, KEY_BYTES);
	return number != ANY_ARRAY || each_field(s, take_element, &pair->list);
}

static bool take_part(pb_istream_t *s, uint32_t number, void *ctx)
{
	struct pair *pair = ctx;

	if (number == PAIR_KEY)
		return read_text(s, pair->key, KEY_BYTES);
	return number != PAIR_VALUE || each_field(s, take_value, pair);
}

/* Three names of one form: before the OTEP was accepted, in its text, and in the
 * documents of a writer (Java's profiler). */
static enum op_schema_form form_of(const char *version)
{
	static const char *const record[] = { "tlsdesc_v1_dev", "tls_v1", "tlsdesc_v1" };
	size_t i;

	for (i = 0; i < sizeof(record) / sizeof(record[0]); i++)
		if (strcmp(version, record[i]) == 0)
			return OP_SCHEMA_TLS;
	return strcmp(version, "go_pprof_labels_v1") == 0 ? OP_SCHEMA_GO : OP_SCHEMA_NONE;
}

static bool take_attribute(pb_istream_t *s, uint32_t number, void *ctx)
{
	struct op_schema *ret = ctx;
	struct pair pair = { 0 };
	bool ok;

	if (number != CONTEXT_ATTRIBUTES)
		return true;
	ok = each_field(s, take_part, &pair);
	if (ok && strcmp(pair.key, VERSION_KEY) == 0) {
		ret->form = form_of(pair.text);
	} else if (ok && strcmp(pair.key, NAMES_KEY) == 0 && !ret->keys_len) {
		pair.list.form = ret->form;
		*ret = pair.list;
		return true;
	}
	op_schema_deinit(&pair.list);
	return ok;
}

int op_schema_parse(const void *bytes, size_t len, struct op_schema *ret)
{
	pb_istream_t s = pb_istream_from_buffer(bytes, len);
	int r = each_field(&s, take_attribute, ret) ? 0 : -EBADMSG;

	if (ret->text.failed) {
		ret->keys_len = 0; /* they are offsets into a text that was cut */
		r = -ENOMEM;
	}
	return r;
}

const char *op_schema_name(const struct op_schema *s, uint8_t key)
{
	const char *name = key < s->keys_len ? s->text.data + s->key[key] : NULL;

	return name && *name ? name : NULL;
}

void op_schema_deinit(struct op_schema *s)
{
	op_strbuf_deinit(&s->text);
	s->keys_len = 0;
}

struct op_schema *op_schema_free(struct op_schema *s)
{
	if (s)
		op_schema_deinit(s);
	free(s);
	return NULL;
}
