/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of LuaJIT, put byte by byte into the memory of a process. */
#ifndef TEST_LUA_FAKE_H
#define TEST_LUA_FAKE_H

#include "op_user_types.h"

#include "op_lua.h"

#include "fake_memory.h"

enum {
	CODE_AT = 104, /* from a prototype to its bytecode */
	CONSTANTS_AT = 0x100,
	LINES_AT = 0x110,
	PROTO_LEN = 0x120,
	FIRST_LINE = 10,
	LINES = 3,
	INSTRUCTIONS = 4,
	FUNCF = 89,
	GGET = 54,
	CALL = 66,
	RET1 = 76,
};

static inline void put_type(uint64_t addr, uint8_t type)
{
	put(addr + 9, &type, 1);
}

static inline void put_string(uint64_t addr, const char *text)
{
	put_type(addr, 4);
	put(addr + 24, text, strlen(text) + 1);
}

/* A function that calls the global function named by the string at @name. */
static inline void put_proto(uint64_t addr, uint64_t file, uint64_t name)
{
	static const uint8_t lines[] = { 1, 2, 3 };

	put_type(addr, 7);
	put_u32(addr + 12, INSTRUCTIONS);
	put_u64(addr + 32, addr + CONSTANTS_AT);
	put_u32(addr + 48, 1);
	put_u32(addr + 56, PROTO_LEN);
	put_u64(addr + 64, file);
	put_u32(addr + 72, FIRST_LINE);
	put_u32(addr + 76, LINES);
	put_u64(addr + 80, addr + LINES_AT);
	put_u32(addr + CODE_AT, FUNCF);
	put_u32(addr + CODE_AT + 4, GGET | 2 << 8);
	put_u32(addr + CODE_AT + 8, CALL | 2 << 8);
	put_u32(addr + CODE_AT + 12, RET1);
	put_u64(addr + CONSTANTS_AT - 8, name);
	put(addr + LINES_AT, lines, sizeof(lines));
}

/* Word 1 of a frame at the next instruction @place of a prototype above. */
static inline uint64_t place_of(uint64_t file, uint32_t place)
{
	uint64_t lines = FIRST_LINE | (uint64_t)LINES << 32;

	return place | (uint64_t)op_lua_guard(INSTRUCTIONS, file, lines) << 32;
}

#endif
