/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of instructions are those of lj_bc.h up to BC_JMP, the same since 2.1.0-beta1. */
#include "runtime/lua/name.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "base/reader.h"

enum {
	MOV = 18,
	KNIL = 43,
	UGET = 45,
	GGET = 54,
	TGETS = 57,
	CALLM = 65,
	ITERC = 69,
	ITERN = 70,
	NAMES_OWN = 7,	 /* variable names below this number are built in */
	SLOTS_MAX = 256, /* moves between slots that are followed */
};

static uint8_t op_of(uint32_t instruction)
{
	return (uint8_t)instruction;
}

static uint32_t a_of(uint32_t instruction)
{
	return (uint8_t)(instruction >> 8);
}

static uint32_t d_of(uint32_t instruction)
{
	return instruction >> 16;
}

/* Does the instruction set its slot A? */
static bool sets(uint8_t op)
{
	return (op >= 12 && op <= 13) || (op >= MOV && op < KNIL) || op == UGET ||
	       (op >= 51 && op <= 54) || (op >= 56 && op <= 59) ||
	       (op >= 89 && op <= 95); /* bit operations, in versions that have them */
}

/* Does the instruction set slot A and those above it? */
static bool sets_above(uint8_t op)
{
	return op == KNIL || op == 63 || (op >= CALLM && op <= 73) ||
	       (op >= 77 && op <= 84);
}

/* The metamethod that an instruction may call. */
static const char *metamethod(uint8_t op)
{
	static const char *const arithmetic[] = { "__add", "__sub", "__mul", "__div",
						  "__mod" };

	if (op < 4)
		return op < 2 ? "__lt" : "__le";
	if (op < 12)
		return "__eq";
	if (op == 20)
		return "__unm";
	if (op == 21)
		return "__len";
	if (op >= 22 && op < 37)
		return arithmetic[(op - 22) % 5];
	if (op == 37)
		return "__pow";
	if (op == 38)
		return "__concat";
	if (op >= 51 && op <= 53)
		return "__gc";
	if (op == GGET || (op >= 56 && op <= 59))
		return "__index";
	if (op == 55 || (op >= 60 && op <= 64))
		return "__newindex";
	return NULL;
}

/* The name of the local variable in @slot at instruction @i. Returns false if it has none. */
static bool local_name(const struct op_lua_proto *p, uint32_t i, uint32_t slot,
		       struct op_strbuf *to)
{
	static const char *const own[NAMES_OWN] = {
		NULL,
		"(for index)",
		"(for limit)",
		"(for step)",
		"(for generator)",
		"(for state)",
		"(for control)",
	};
	struct op_reader in = op_reader_init(p->bytes, p->len);
	uint64_t start = 0;
	uint64_t end;
	const char *name;

	if (!p->variables)
		return false;
	op_reader_seek(&in, p->variables);
	while (!in.failed) {
		uint8_t first = op_reader_left(&in) ? *in.pos : 0;

		if (!first)
			return false;
		if (first < NAMES_OWN) {
			name = own[first];
			op_read_skip(&in, 1);
		} else {
			name = op_read_cstr(&in);
		}
		start += op_read_uleb(&in);
		end = start + op_read_uleb(&in);
		if (in.failed || start > i)
			return false;
		if (i < end && slot-- == 0) {
			op_strbuf_add(to, name, strnlen(name, OP_LUA_TEXT_MAX));
			return true;
		}
	}
	return false;
}

static int upvalue_name(const struct op_lua_proto *p, uint32_t number,
			struct op_strbuf *to)
{
	struct op_reader in = op_reader_init(p->bytes, p->len);
	const char *name;

	if (!p->upvalue_names || number >= p->upvalues)
		return 0;
	op_reader_seek(&in, p->upvalue_names);
	do {
		name = op_read_cstr(&in);
	} while (name && number--);
	if (!name || !*name)
		return 0;
	op_strbuf_add(to, name, strnlen(name, OP_LUA_TEXT_MAX));
	return 1;
}

static int constant_name(const struct op_lua_proto *p, uint32_t number,
			 const struct op_memory *memory, struct op_strbuf *to)
{
	uint64_t back = (number + 1) * 8ULL;
	uint64_t addr;
	int r;

	if (!p->constants || number >= p->objects ||
	    back > p->constants - OP_LUA_PROTO_BYTES)
		return 0;
	memcpy(&addr, p->bytes + p->constants - back, sizeof(addr));
	r = op_runtime_lua_string(memory, addr, to);
	return r < 0 ? r : 1;
}

/* Append the name of the value that instruction @i finds in @slot. */
static int slot_name(const struct op_lua_proto *p, uint32_t i, uint32_t slot,
		     const struct op_memory *memory, struct op_strbuf *to)
{
	uint32_t moves = 0;

	if (local_name(p, i, slot, to))
		return 1;
	while (i-- > 1) {
		uint32_t instruction = op_runtime_lua_instruction(p, i);
		uint32_t a = a_of(instruction);
		uint8_t op = op_of(instruction);

		if (sets_above(op) && slot >= a &&
		    (op != KNIL || slot <= d_of(instruction)))
			return 0;
		if (!sets(op) || a != slot)
			continue;
		switch (op) {
		case MOV:
			slot = d_of(instruction);
			if (local_name(p, i, slot, to))
				return 1;
			if (++moves > SLOTS_MAX)
				return 0;
			break;
		case GGET:
			return constant_name(p, d_of(instruction), memory, to);
		case TGETS:
			return constant_name(p, (uint8_t)(instruction >> 16), memory, to);
		case UGET:
			return upvalue_name(p, d_of(instruction), to);
		default:
			return 0;
		}
	}
	return 0;
}

int op_runtime_lua_called(const struct op_lua_proto *caller, uint32_t i,
			  const struct op_memory *memory, struct op_strbuf *to)
{
	uint32_t instruction = op_runtime_lua_instruction(caller, i);
	uint8_t op = op_of(instruction);
	const char *name = metamethod(op);
	int r;

	if (i >= caller->instructions)
		return 0;
	if (op >= CALLM && op <= ITERN) {
		/* an iterator is called from a copy, three slots above it */
		r = slot_name(caller, i, a_of(instruction) - (op == ITERC ? 3 : 0),
			      memory, to);
	} else {
		r = name != NULL;
		op_strbuf_puts(to, name ? name : "");
	}
	return to->failed ? -ENOMEM : r;
}
