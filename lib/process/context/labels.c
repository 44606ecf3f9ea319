/* SPDX-License-Identifier: Apache-2.0 */
#include "process/context/labels.h"

#include <string.h>

#include "base/reader.h"
#include "process/context/schema.h"

static void put(struct op_context_labels *ret, const struct op_context_label *label)
{
	if (!label->key_len)
		return;
	if (ret->len < OP_LABELS_MAX)
		ret->label[ret->len++] = *label;
	else
		ret->cut++;
}

static void parse_otel(const void *bytes, size_t len, const struct op_schema *schema,
		       struct op_context_labels *ret)
{
	struct op_reader r = op_reader_init(bytes, len);
	struct op_context_label last[OP_SCHEMA_KEYS_MAX] = { 0 };
	size_t i;

	while (op_reader_left(&r)) {
		uint8_t key = op_read_u8(&r);
		uint8_t value_len = op_read_u8(&r);
		const uint8_t *value = op_read_bytes(&r, value_len);
		const char *name;

		if (r.failed)
			break;
		name = schema ? op_schema_name(schema, key) : NULL;
		if (!name) {
			ret->unknown_key =
				ret->unknown_key || !schema || key >= schema->keys_len;
			continue;
		}
		last[key] = (struct op_context_label){ .key = name,
						       .key_len = (uint8_t)strlen(name),
						       .value = (const char *)value,
						       .value_len = value_len };
	}
	for (i = 0; i < OP_SCHEMA_KEYS_MAX; i++)
		put(ret, &last[i]);
}

static bool has_key(const struct op_context_labels *labels,
		    const struct op_context_label *label)
{
	uint32_t i;

	for (i = 0; i < labels->len; i++)
		if (labels->label[i].key_len == label->key_len &&
		    memcmp(labels->label[i].key, label->key, label->key_len) == 0)
			return true;
	return false;
}

static void parse_cells(const void *bytes, size_t len, struct op_context_labels *ret)
{
	struct op_reader r = op_reader_init(bytes, len);

	while (op_reader_left(&r)) {
		const uint8_t *cell = op_read_bytes(&r, sizeof(struct op_label));
		struct op_context_label label;
		struct op_label head;

		if (r.failed)
			return;
		memcpy(&head, cell, sizeof(head));
		if (head.key_len > OP_LABEL_KEY_BYTES ||
		    head.value_len > OP_LABEL_VALUE_BYTES)
			return;
		label = (struct op_context_label){
			.key = (const char *)cell + offsetof(struct op_label, key),
			.value = (const char *)cell + offsetof(struct op_label, value),
			.key_len = head.key_len,
			.value_len = head.value_len,
		};
		if (!has_key(ret, &label))
			put(ret, &label);
	}
}

void op_context_labels_parse(uint32_t form, const void *bytes, size_t len,
			     const struct op_schema *schema,
			     struct op_context_labels *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (form == OP_CONTEXT_OTEL)
		parse_otel(bytes, len, schema, ret);
	else if (form == OP_CONTEXT_CUSTOM || form == OP_CONTEXT_GO)
		parse_cells(bytes, len, ret);
}
