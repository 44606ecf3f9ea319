/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes resources. Keys and strings are inline, not in the dictionary, because
 * Collectors 0.148 to 0.160 do not resolve references in resources. */
#include "profile/otlp/otlp_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/utf8.h"
#include "profile/window_tables.h"
#include "resource.pb.h"

enum {
	OWN_MAX = 11, /* attributes that the library observes */
	/* attributes that the process sets: as many as lib/resource accepts */
	ATTRIBUTES_SAID_MAX = 64,
};

struct builder {
	otlp_KeyValue list[OWN_MAX + ATTRIBUTES_SAID_MAX + OP_RESOURCE_ATTRIBUTES_MAX];
	size_t len;
	uint32_t dropped;
	otlp_AnyValue args[OP_COMMAND_ARGS_MAX];
};

static bool has_key(const struct builder *b, const char *key)
{
	size_t i;

	for (i = 0; i < b->len; i++)
		if (!strcmp(b->list[i].key, key))
			return true;
	return false;
}

/* nanopb's structs have no const members, but encoding does not write to them. */
static otlp_KeyValue *put(struct builder *b, const char *key)
{
	otlp_KeyValue *kv = &b->list[b->len++];

	*kv = (otlp_KeyValue){ .key = (char *)(uintptr_t)key, .has_value = true };
	return kv;
}

static void put_text(otlp_AnyValue *value, const char *text)
{
	value->which_value = otlp_AnyValue_string_value_tag;
	value->value.string_value = (char *)(uintptr_t)text;
}

static void put_string(struct builder *b, const struct op_window *w, const char *key,
		       uint32_t string)
{
	if (string)
		put_text(&put(b, key)->value, op_window_chars(w, string));
}

static void put_args(struct builder *b, const struct op_window *w, uint32_t string)
{
	const char *pos;
	const char *end;
	otlp_AnyValue *value;
	size_t len = 0;

	if (!string)
		return;
	pos = op_window_chars(w, string);
	end = pos + w->strings.data[string].len;
	while (pos < end && len < OP_COMMAND_ARGS_MAX) {
		memset(&b->args[len], 0, sizeof(b->args[len]));
		put_text(&b->args[len++], pos);
		pos += strlen(pos) + 1;
	}
	value = &put(b, "process.command_args")->value;
	value->which_value = otlp_AnyValue_array_value_tag;
	value->value.array_value =
		(otlp_ArrayValue){ .values_count = (pb_size_t)len, .values = b->args };
}

static void put_int(struct builder *b, const char *key, int64_t integer)
{
	otlp_AnyValue *value = &put(b, key)->value;

	value->which_value = otlp_AnyValue_int_value_tag;
	value->value.int_value = integer;
}

/* Set a value of op_resource.attributes. Returns false for an invalid type or text. */
static bool put_typed(otlp_AnyValue *value, char type, const char *text)
{
	uint64_t bits;

	switch (type) {
	case OP_VALUE_STRING:
		put_text(value, text);
		return true;
	case OP_VALUE_INT:
		value->which_value = otlp_AnyValue_int_value_tag;
		value->value.int_value = strtoll(text, NULL, 10);
		return true;
	case OP_VALUE_BOOL:
		value->which_value = otlp_AnyValue_bool_value_tag;
		value->value.bool_value = *text == '1';
		return true;
	case OP_VALUE_DOUBLE:
		bits = strtoull(text, NULL, 16);
		value->which_value = otlp_AnyValue_double_value_tag;
		memcpy(&value->value.double_value, &bits, sizeof(bits));
		return true;
	default:
		return false;
	}
}

static void put_attributes(struct builder *b, const struct op_window *w, uint32_t string)
{
	const char *pos = op_window_chars(w, string);
	const char *end = pos + w->strings.data[string].len;
	size_t len = 0;

	while (pos < end) {
		const char *key = pos;
		const char *value = key + strlen(key) + 1;

		if (value >= end) /* cut off by the window */
			break;
		pos = value + strlen(value) + 1;
		if (has_key(b, key))
			continue;
		if (len == ATTRIBUTES_SAID_MAX) {
			b->dropped++;
			continue;
		}
		if (put_typed(&put(b, key)->value, *value, value + 1))
			len++;
		else
			b->len--;
	}
}

static void put_options(struct builder *b, const struct op_otlp_options *options)
{
	size_t i;

	for (i = 0; i < options->attributes_len && i < OP_RESOURCE_ATTRIBUTES_MAX; i++) {
		const struct op_otlp_attribute *a = &options->attributes[i];

		/* Observed attributes take precedence. Backends would refuse a request
		 * with text that is not UTF-8. */
		if (!a->key[0] || has_key(b, a->key) ||
		    !op_utf8_valid(a->key, strlen(a->key)) ||
		    !op_utf8_valid(a->value, strlen(a->value)))
			continue;
		put_text(&put(b, a->key)->value, a->value);
	}
}

int op_otlp_resource(const struct op_window *w, const struct op_resource *r,
		     const struct op_otlp_options *options, uint32_t field,
		     struct op_bytes *bytes)
{
	_cleanup_free_ struct builder *b = malloc(sizeof(*b));
	otlp_Resource m = otlp_Resource_init_zero;

	if (!b)
		return -ENOMEM;
	b->len = 0;
	b->dropped = r->attributes_dropped;
	put_int(b, "process.pid", r->pid);
	if (r->namespace_pid)
		put_int(b, "process.vpid", r->namespace_pid);
	if (r->user)
		put_int(b, "process.real_user.id", r->user - 1);
	put_string(b, w, "process.linux.cgroup", r->cgroup_path);
	put_string(b, w, "service.name", r->service_name);
	put_string(b, w, "process.executable.name", r->executable_name);
	put_string(b, w, "process.executable.path", r->executable_path);
	put_string(b, w, "container.id", r->container_id);
	put_string(b, w, "container.name", r->container_name);
	put_string(b, w, "k8s.pod.uid", r->pod_uid);
	put_args(b, w, r->command_args);
	/* The process's attributes come last: they override neither observed ones nor the
	 * operator's. */
	put_options(b, options);
	put_attributes(b, w, r->attributes);
	m.attributes = b->list;
	m.attributes_count = (pb_size_t)b->len;
	m.dropped_attributes_count = b->dropped;
	return op_bytes_any_message(bytes, field, &otlp_Resource_msg, &m);
}
