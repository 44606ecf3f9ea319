/* SPDX-License-Identifier: Apache-2.0 */
#include "process/context/ids.h"

#include <string.h>

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The label's whole value must be @bytes bytes in hex. */
static bool parse(const struct op_context_label *label, uint8_t *ret, size_t bytes)
{
	size_t i;

	if (label->value_len != 2 * bytes)
		return false;
	for (i = 0; i < bytes; i++) {
		int high = digit(label->value[2 * i]);
		int low = digit(label->value[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static bool is_key(const struct op_context_label *label, const char *key)
{
	return label->key_len == strlen(key) &&
	       memcmp(label->key, key, label->key_len) == 0;
}

bool op_context_has_ids(const struct op_thread_context *context)
{
	static const uint8_t zero[OP_TRACE_ID_BYTES];

	return memcmp(context->trace_id, zero, sizeof(context->trace_id)) != 0 &&
	       memcmp(context->span_id, zero, sizeof(context->span_id)) != 0;
}

bool op_context_ids_of_labels(struct op_context_labels *labels,
			      struct op_thread_context *ret)
{
	struct op_thread_context ids = { 0 };
	uint32_t kept = 0;
	uint32_t i;

	for (i = 0; i < labels->len; i++) {
		const struct op_context_label *l = &labels->label[i];

		if (is_key(l, "trace_id"))
			(void)parse(l, ids.trace_id, sizeof(ids.trace_id));
		else if (is_key(l, "span_id"))
			(void)parse(l, ids.span_id, sizeof(ids.span_id));
	}
	if (!op_context_has_ids(&ids))
		return false;
	for (i = 0; i < labels->len; i++)
		if (!is_key(&labels->label[i], "trace_id") &&
		    !is_key(&labels->label[i], "span_id"))
			labels->label[kept++] = labels->label[i];
	labels->len = kept;
	memcpy(ret->trace_id, ids.trace_id, sizeof(ids.trace_id));
	memcpy(ret->span_id, ids.span_id, sizeof(ids.span_id));
	return true;
}
