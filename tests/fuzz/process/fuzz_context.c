/* SPDX-License-Identifier: Apache-2.0 */
/* A process context: the input is a header and its payload, then a line of maps. */
#include <stdint.h>
#include <string.h>

#include "base/macros.h"
#include "process/resource/process_context.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input as memory at address 0. */
struct there {
	struct op_memory memory;
	const uint8_t *data;
	size_t size;
};

static int read_there(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	const struct there *t = op_container_of(m, struct there, memory);

	if (addr > t->size || len > t->size - addr)
		return -1;
	memcpy(buf, t->data + addr, len);
	return 0;
}

static void check(const struct op_resource_attributes *c)
{
	size_t at = 0;
	uint32_t n = 0;

	if (c->len > OP_RESOURCE_ATTRIBUTES_MAX ||
	    c->text.len > OP_RESOURCE_ATTRIBUTES_BYTES_MAX)
		__builtin_trap();
	for (; at < c->text.len; n++) {
		at += strlen(c->text.data + at) + 1;
		if (!strchr("sibd", c->text.data[at]) || !c->text.data[at])
			__builtin_trap();
		at += strlen(c->text.data + at) + 1;
	}
	if (at != c->text.len || n != c->len)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(op_resource_attributes_put_refp) struct op_resource_attributes
		*attributes = op_resource_attributes_new();
	struct there t = { .memory.read = read_there, .data = data, .size = size };
	uint64_t number;

	if (!attributes)
		return 0;
	(void)op_process_context_read(&t.memory, 0, attributes, NULL, &number);
	if (size > OP_PROCESS_CONTEXT_HEADER_BYTES)
		(void)op_process_context_payload(data + OP_PROCESS_CONTEXT_HEADER_BYTES,
						 size - OP_PROCESS_CONTEXT_HEADER_BYTES,
						 attributes);
	check(attributes);
	(void)op_process_context_of_line((const char *)data, size, &number);
	return 0;
}
