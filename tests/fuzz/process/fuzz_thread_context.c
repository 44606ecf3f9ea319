/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's context: the first byte is its form, the next two how long the process context is that
 * follows; then the labels. */
#include <stdint.h>
#include <string.h>

#include "process/context/ids.h"
#include "process/context/labels.h"
#include "process/context/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every label is inside the input or the schema, and within its limits. */
static void check(const struct op_context_labels *labels, const uint8_t *data,
		  size_t size, const struct op_schema *schema)
{
	uint32_t i;

	if (labels->len > OP_LABELS_MAX)
		__builtin_trap();
	for (i = 0; i < labels->len; i++) {
		const struct op_context_label *l = &labels->label[i];
		const char *start = (const char *)data;
		const char *end = start + size;
		const char *text = schema->text.data;

		if (!l->key_len || l->value < start || l->value + l->value_len > end)
			__builtin_trap();
		if ((l->key < start || l->key + l->key_len > end) &&
		    (!text || l->key < text ||
		     l->key + l->key_len > text + schema->text.len))
			__builtin_trap();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct op_schema schema = { 0 };
	struct op_thread_context ids = { 0 };
	struct op_context_labels labels;
	size_t len;

	if (size < 3)
		return 0;
	len = (size_t)data[1] << 8 | data[2];
	if (len > size - 3)
		len = size - 3;
	(void)op_schema_parse(data + 3, len, &schema);
	if (schema.keys_len > OP_SCHEMA_KEYS_MAX || schema.text.len > OP_SCHEMA_BYTES_MAX)
		__builtin_trap();
	op_context_labels_parse(data[0] % OP_CONTEXT_FORMS, data + 3 + len,
				size - 3 - len, &schema, &labels);
	check(&labels, data, size, &schema);
	(void)op_context_ids_of_labels(&labels, &ids);
	op_schema_deinit(&schema);
	return 0;
}
