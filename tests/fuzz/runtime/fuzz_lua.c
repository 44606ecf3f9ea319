/* SPDX-License-Identifier: Apache-2.0 */
/* Prototypes and traces of LuaJIT in memory of any bytes. Input: the memory. A name ends. */
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"

#include "input.h"

#include "op_lua.h"

enum {
	BASE = 0x1000,
	TRIES = 16,
	NAME_MAX_BYTES = 8192,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t word(const struct input *in, uint64_t addr)
{
	uint64_t ret = 0;

	(void)op_memory_read(&in->memory, addr, &ret, sizeof(ret));
	return ret;
}

/* The guard that a frame of the prototype, or of the trace, at @addr has. */
static uint64_t guard(const struct input *in, uint64_t addr, bool trace)
{
	uint32_t g = trace ? op_lua_guard(word(in, addr + OP_LUA_TRACE_PROTO),
					  word(in, addr + OP_LUA_TRACE_PC),
					  word(in, addr + OP_LUA_TRACE_CODE))
			   : op_lua_guard(word(in, addr + OP_LUA_PROTO_SIZE) >> 32,
					  word(in, addr + OP_LUA_PROTO_FILE),
					  word(in, addr + OP_LUA_PROTO_LINES));

	return (uint64_t)g << 32;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t at[] = { BASE, BASE + 0x200, BASE + 0x400, BASE + 0x600 };
	struct input in = { { read_input }, data, size, BASE };
	struct op_runtime_target target = { .memory = &in.memory };
	struct op_lua image = { 0 };
	struct op_lua lua;
	void *instance;
	size_t i;
	size_t j;

	if (op_runtime_lua.attach(&image, &target, NULL, &lua, &instance) < 0)
		return 0;
	for (i = 0; i < TRIES; i++) {
		uint64_t caller = at[i / 4];
		bool trace = i & 1;
		const uint64_t words[OP_LUA_TRACE_WORDS] = {
			at[i & 3],
			guard(&in, at[i & 3], trace) | i * 7 |
				(trace ? OP_LUA_TRACE << OP_LUA_KIND_SHIFT : 0),
			caller,
			guard(&in, caller, false) | i,
			at[0],
			guard(&in, at[0], false),
		};
		struct op_runtime_frame frame = { .len = 0 };

		if (op_runtime_lua.describe(instance, words, trace ? 6 : 4, &frame) < 0)
			continue;
		for (j = 0; j < frame.len; j++)
			if (strlen(frame.function[j].name) > NAME_MAX_BYTES ||
			    strlen(frame.function[j].file) > NAME_MAX_BYTES)
				abort();
	}
	op_runtime_lua.detach(instance);
	return 0;
}
