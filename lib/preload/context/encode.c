/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/context/encode.h"

#include <string.h>

enum {
	/* Numbers of fields, and the wire type of all of them (proto 1.11). */
	CONTEXT_RESOURCE = 1,
	CONTEXT_ATTRIBUTES = 2,
	RESOURCE_ATTRIBUTES = 1,
	PAIR_KEY = 1,
	PAIR_VALUE = 2,
	ANY_STRING = 1,
	ANY_ARRAY = 5,
	ARRAY_VALUES = 1,
	WIRE_BYTES = 2,
};

static const char VERSION_KEY[] = "threadlocal.schema_version";
static const char VERSION[] = "tlsdesc_v1_dev";
static const char NAMES_KEY[] = "threadlocal.attribute_key_map";

/* Counts bytes, and writes them if there is space. */
struct out {
	uint8_t *at;
	size_t len;
};

static void put(struct out *o, const void *bytes, size_t len)
{
	if (o->at && len)
		memcpy(o->at + o->len, bytes, len);
	o->len += len;
}

static void put_head(struct out *o, unsigned int field, size_t len)
{
	uint8_t byte = (uint8_t)(field << 3 | WIRE_BYTES);

	put(o, &byte, 1);
	do {
		byte = (uint8_t)((len & 0x7f) | (len > 0x7f ? 0x80 : 0));
		put(o, &byte, 1);
		len >>= 7;
	} while (len);
}

static void put_text(struct out *o, unsigned int field, const char *text)
{
	size_t len = strlen(text);

	put_head(o, field, len);
	put(o, text, len);
}

static size_t text_bytes(const char *text)
{
	struct out count = { 0 };

	put_text(&count, ANY_STRING, text);
	return count.len;
}

static void put_pair(struct out *o, const char *key, const char *value)
{
	put_text(o, PAIR_KEY, key);
	put_head(o, PAIR_VALUE, text_bytes(value));
	put_text(o, ANY_STRING, value);
}

/* A pair as field @field of what is around it. */
static void put_attribute(struct out *o, unsigned int field, const char *key,
			  const char *value)
{
	struct out count = { 0 };

	put_pair(&count, key, value);
	put_head(o, field, count.len);
	put_pair(o, key, value);
}

static void put_resource(struct out *o, const struct otelprof_process_context *process)
{
	size_t i;

	for (i = 0; i < process->attributes_len; i++)
		put_attribute(o, RESOURCE_ATTRIBUTES, process->attributes[i].key,
			      process->attributes[i].value);
}

static void put_array(struct out *o, const struct otelprof_process_context *process)
{
	size_t i;

	for (i = 0; i < process->keys_len; i++) {
		put_head(o, ARRAY_VALUES, text_bytes(process->keys[i]));
		put_text(o, ANY_STRING, process->keys[i]);
	}
}

static void put_any_array(struct out *o, const struct otelprof_process_context *process)
{
	struct out count = { 0 };

	put_array(&count, process);
	put_head(o, ANY_ARRAY, count.len);
	put_array(o, process);
}

static void put_names(struct out *o, const struct otelprof_process_context *process)
{
	struct out count = { 0 };

	put_any_array(&count, process);
	put_text(o, PAIR_KEY, NAMES_KEY);
	put_head(o, PAIR_VALUE, count.len);
	put_any_array(o, process);
}

size_t op_writer_encode(const struct otelprof_process_context *process, uint8_t *ret)
{
	struct out o = { .at = ret };
	struct out count = { 0 };

	put_resource(&count, process);
	put_head(&o, CONTEXT_RESOURCE, count.len);
	put_resource(&o, process);
	put_attribute(&o, CONTEXT_ATTRIBUTES, VERSION_KEY, VERSION);
	count = (struct out){ 0 };
	put_names(&count, process);
	put_head(&o, CONTEXT_ATTRIBUTES, count.len);
	put_names(&o, process);
	return o.len;
}
