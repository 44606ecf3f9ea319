/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A V8 heap of any content. Input: a byte that says which form it has, then its memory as
 * tests/unit/runtime/node_fake.h lays it out; whatever can be read is read.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/node/code.h"
#include "runtime/node/functions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	BASE = 0x100000,
	READS_MAX = 300000, /* more would be unbounded work */
};

#define CAGE (UINT64_C(1) << 32)

static const uint64_t functions_at[] = { BASE + 0x1001, BASE + 0x1081 };
static const uint64_t code_at[] = { BASE + 0x4004, BASE + 0x4010, BASE + 0x5010,
				    BASE + 0x5020 };

static const struct op_node_opcodes opcodes = {
	.size = { 1, 1, 1, 1, 1, 2, 3, 1, 1, 1, 1, 1, 3, 5, 1, 1, 1, 1, 1, 5, 9 },
	.count = 7,
};

struct input {
	struct op_memory memory;
	const uint8_t *data;
	size_t size;
	unsigned int reads;
	bool compressed; /* all lies in one cage */
};

static int read_input(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	struct input *in = (struct input *)(uintptr_t)m;

	if (++in->reads > READS_MAX)
		abort();
	if (in->compressed)
		addr = (uint32_t)addr;
	if (addr < BASE || len > in->size || addr - BASE > in->size - len)
		return -EFAULT;
	memcpy(buf, in->data + (addr - BASE), len);
	return 0;
}

static void make_layout(uint8_t form, struct op_node_layout *ret)
{
	*ret = (struct op_node_layout){
		.shared_name = 16,
		.shared_script = 32,
		.shared_token = 44,
		.shared_id = 52,
		.scope_slots = form & 1 ? 16 : 8,
		.scope_fixed = form & 2 ? 5 : 3,
		.scope_position = form & 2 ? 3 : 0,
		.type.first_nonstring = 128,
		.type.shared = 128,
		.type.script = 129,
		.type.bytecode = 130,
		.type.scope = 131,
		.type.code = 132,
		.array_bytes = 64,
		.array_length = 8,
		.array_positions = 24,
		.code_bytes = 32,
		.code_deopt = 8,
		.code_start = form & 4 ? 0 : 40,
		.code_size = form & 4 ? 24 : 52,
		.deopt_literals = 2,
		.deopt_shared = 6,
		.deopt_inlining = 7,
		.form = { .first = form & 8 ? 0 : -1, .flag_bits = form & 16 ? 2 : 0 },
		.tagged = form & 32 ? 4 : 8,
		.raw_lengths = form & 64 ? 1 : 0,
		.trusted = form & 128 ? 1 : 0,
	};
}

static void try_functions(const struct op_node_heap *heap)
{
	struct op_node_functions functions;
	const struct op_node_function *f;
	const struct op_node_script *script;
	size_t i;

	op_runtime_node_functions_init(&functions, heap);
	for (i = 0; i < 4; i++) {
		uint64_t object = functions_at[i & 1] |
				  (op_node_is_compressed(heap->layout) ? CAGE : 0);
		uint32_t check;

		op_runtime_node_functions_trim(&functions);
		if (op_runtime_node_function_check(heap, object, &check) ||
		    op_runtime_node_function(&functions, object, check, &f))
			continue;
		if (!*f->name)
			abort();
		if (op_runtime_node_script(&functions.scripts, f->script, NULL,
					   &script) == 0)
			(void)op_runtime_node_place(script, f->start);
	}
	op_runtime_node_functions_deinit(&functions);
}

static void try_code(const struct op_node_heap *heap)
{
	const struct op_node_code *code;
	struct op_node_position at;
	struct op_node_codes codes;
	size_t i;

	op_runtime_node_codes_init(&codes, heap, &opcodes);
	for (i = 0; i < sizeof(code_at) / sizeof(*code_at); i++) {
		if (op_runtime_node_code(&codes, code_at[i], &code))
			continue;
		if (code_at[i] < code->start || code_at[i] >= code->end)
			abort();
		(void)op_runtime_node_code_position(&codes, code, 0, 0, code_at[i], &at);
	}
	(void)op_runtime_node_bytecode_position(&codes, BASE + 0x1301, 0, 64, &at);
	op_runtime_node_codes_clear(&codes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { { read_input }, data + 1, size - 1, 0, false };
	struct op_node_layout layout;
	struct op_node_heap heap = { &in.memory, &layout, CAGE, CAGE, NULL };

	if (!size)
		return 0;
	make_layout(data[0], &layout);
	in.compressed = op_node_is_compressed(&layout);
	try_functions(&heap);
	try_code(&heap);
	return 0;
}
