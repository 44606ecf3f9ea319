/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the functions that are inlined at an offset in a trace's machine code.
 *
 * A snapshot describes the code between two exits: the pc of an instruction, and the
 * frames between it and the function that the trace entered. All Lua code of a trace is
 * among its constants, except the function that it began in.
 */
#ifndef OP_RUNTIME_LUA_TRACE_H
#define OP_RUNTIME_LUA_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/lua/proto.h"
#include "runtime/runtime.h"

enum {
	OP_LUA_TRACES_MAX = 4096, /* beyond that all are dropped and read again */
	OP_LUA_TRACES_BYTES = 8 << 20,
	/* of one trace; past that it is an error. LuaJIT's own defaults are 500 and
	 * 4000 */
	OP_LUA_SNAPSHOTS_MAX = 8192,
	OP_LUA_ENTRIES_MAX = 1 << 18,
	OP_LUA_CONSTANTS_MAX = 1 << 15,
	OP_LUA_TRACE_PROTOS_MAX =
		256, /* prototypes among the constants; past that they are unknown */
};

/* A function on a trace. */
struct op_lua_inlined {
	uint64_t proto; /* its address; 0: a function in C, or unknown */
	uint32_t guard;
	uint32_t place; /* number of the next instruction */
};

struct op_lua_traces {
	const struct op_memory *memory;
	struct op_lua_protos *protos;
	struct op_objects objects;
	uint64_t reads;
};

/* Borrows both. */
void op_runtime_lua_traces_init(struct op_lua_traces *traces,
				const struct op_memory *memory,
				struct op_lua_protos *protos);
void op_runtime_lua_traces_deinit(struct op_lua_traces *traces);

/*
 * The functions of a trace's frame with these words, innermost first: *@ret_len of them,
 * at most OP_RUNTIME_INLINED_MAX. The last is the one that the trace entered. Returns 0,
 * -EBADMSG if the trace was freed, -ENOMEM, or an error of reading.
 */
int op_runtime_lua_trace(struct op_lua_traces *traces,
			 const uint64_t words[OP_LUA_TRACE_WORDS],
			 struct op_lua_inlined ret[OP_RUNTIME_INLINED_MAX],
			 size_t *ret_len);

#endif
