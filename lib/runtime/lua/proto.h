/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of the prototypes of one process. A prototype describes a function's code, in
 * one piece of memory: bytecode, constants, lines and names of variables. It is read
 * whole.
 *
 * Other code may get the same address later. So entries and frames have a guard: with the
 * same address and guard it is the same code.
 */
#ifndef OP_RUNTIME_LUA_PROTO_H
#define OP_RUNTIME_LUA_PROTO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "runtime/objects.h"

#include "op_user_types.h"

#include "op_lua.h"

enum {
	/* bytes of one prototype; a larger one has no lines */
	OP_LUA_PROTO_MAX = 4 << 20,
	OP_LUA_PROTOS_MAX = 16384, /* past that all are dropped and read again */
	OP_LUA_PROTOS_BYTES = 16 << 20,
	OP_LUA_TEXT_MAX = 4096, /* bytes of a name or a path; longer ones are cut */
};

struct op_lua_proto {
	uint64_t addr;
	uint32_t guard;
	uint32_t instructions;
	uint32_t first_line;
	uint32_t lines;
	/* offsets from addr; 0: there is none */
	uint32_t constants;
	uint32_t line_info;
	uint32_t upvalue_names;
	uint32_t variables;
	uint32_t upvalues;
	/* number of constants that are objects; they are before the others */
	uint32_t objects;
	uint32_t len;
	char *file; /* as in tracebacks, but not cut */
	uint8_t bytes[];
};

struct op_lua_protos {
	const struct op_memory *memory;
	struct op_objects objects;
	uint64_t reads;
};

/* Borrows @memory. */
void op_runtime_lua_protos_init(struct op_lua_protos *protos,
				const struct op_memory *memory);
void op_runtime_lua_protos_deinit(struct op_lua_protos *protos);

/*
 * Get the prototype at @addr with that guard. *@ret is borrowed until op_objects_begin().
 * Returns 0, -EBADMSG if it was freed, -ENOMEM, or an error of reading.
 */
int op_runtime_lua_proto(struct op_lua_protos *protos, uint64_t addr, uint32_t guard,
			 const struct op_lua_proto **ret);
/* The same, for any prototype at @addr. */
int op_runtime_lua_proto_at(struct op_lua_protos *protos, uint64_t addr,
			    const struct op_lua_proto **ret);

/* Instruction @i; 0 past the end. */
uint32_t op_runtime_lua_instruction(const struct op_lua_proto *proto, uint32_t i);
/* The line of instruction @i; 0: unknown. */
uint32_t op_runtime_lua_line(const struct op_lua_proto *proto, uint32_t i);

/* Append the string object at @addr. Returns 0, -EBADMSG if it is not one, or an error of
 * reading. */
int op_runtime_lua_string(const struct op_memory *memory, uint64_t addr,
			  struct op_strbuf *to);

#endif
