/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A V8 heap as far as the library reads one, built object by object: a function with its
 * script, bytecodes, baseline code and optimized code that has another function inlined.
 */
#ifndef NODE_FAKE_H
#define NODE_FAKE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/node/code.h"
#include "runtime/node/layout.h"

enum {
	FAKE_BASE = 0x100000,
	FAKE_BYTES = 32768,
	FAKE_STRING_TYPE = 8, /* flat, one byte a character */
	FAKE_WIDE_TYPE = 0,
	FAKE_CONS_TYPE = 9,
	FAKE_THIN_TYPE = 13,
	FAKE_TYPES = 128,
	FAKE_SHARED_TYPE = FAKE_TYPES,
	FAKE_SCRIPT_TYPE,
	FAKE_BYTECODE_TYPE,
	FAKE_SCOPE_TYPE,
	FAKE_CODE_TYPE,
	FAKE_ARRAY_TYPE,
	FAKE_STREAM_TYPE,
	FAKE_LAST_TYPE,
	/* where things are put; maps come first, 16 bytes each */
	FAKE_MAPS = FAKE_BASE,
	FAKE_OUTER = FAKE_BASE + 0x1000, /* SharedFunctionInfo */
	FAKE_INNER = FAKE_BASE + 0x1080,
	FAKE_SCRIPT = FAKE_BASE + 0x1100,
	FAKE_OUTER_SCOPE = FAKE_BASE + 0x1180,
	FAKE_BYTECODE = FAKE_BASE + 0x1300,
	FAKE_BYTECODE_TABLE = FAKE_BASE + 0x1400,
	FAKE_BASELINE = FAKE_BASE + 0x1500, /* Code */
	FAKE_BASELINE_TABLE = FAKE_BASE + 0x1580,
	FAKE_OPTIMIZED = FAKE_BASE + 0x1600, /* Code */
	FAKE_OPTIMIZED_TABLE = FAKE_BASE + 0x1680,
	FAKE_DEOPT = FAKE_BASE + 0x1700,
	FAKE_LITERALS = FAKE_BASE + 0x1800,
	FAKE_INLINING = FAKE_BASE + 0x1880,
	FAKE_STRANGER = FAKE_BASE + 0x1900, /* data of other code */
	FAKE_STRINGS = FAKE_BASE + 0x2000,  /* 256 bytes each */
	FAKE_BASELINE_START = FAKE_BASE + 0x4000,
	FAKE_OPTIMIZED_START = FAKE_BASE + 0x5000,
	FAKE_CODE_BYTES = 0x80,
	/* an array at the end of it, whose elements are the zeros behind it */
	FAKE_LONG = FAKE_BASE + FAKE_BYTES - 16,
};

struct fake {
	struct op_memory memory;
	unsigned int reads;
	size_t zeros; /* behind what is there */
	bool gone;
	uint8_t bytes[FAKE_BYTES];
};

static struct fake fake;

/* As Node.js 22's. */
static const struct op_node_layout fake_layout = {
	.array_slot = 32,
	.array_length = 8,
	.offset_slot = 40,
	.function_shared = 32,
	.shared_name = 16,
	.shared_script = 32,
	.shared_token = 44,
	.shared_id = 52,
	.scope_slots = 8,
	.scope_fixed = 3,
	.type.first_nonstring = FAKE_TYPES,
	.type.shared = FAKE_SHARED_TYPE,
	.type.script = FAKE_SCRIPT_TYPE,
	.type.bytecode = FAKE_BYTECODE_TYPE,
	.type.scope = FAKE_SCOPE_TYPE,
	.type.code = FAKE_CODE_TYPE,
	.array_bytes = 64,
	.array_positions = 24,
	.code_bytes = 32,
	.code_deopt = 8,
	.code_start = 40,
	.code_size = 52,
	.deopt_literals = 2,
	.deopt_shared = 6,
	.deopt_inlining = 7,
	.form = { .first = -1 },
};

/* Bytecodes 0 to 3 are prefixes; 4 has one byte, 5 two, 6 three; operands grow. */
static const struct op_node_opcodes fake_opcodes = {
	.size = { 1, 1, 1, 1, 1, 2, 3, 1, 1, 1, 1, 1, 3, 5, 1, 1, 1, 1, 1, 5, 9 },
	.count = 7,
};

static int fake_read(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	size_t here;

	(void)m;
	fake.reads++;
	if (fake.gone)
		return -ESRCH;
	if (addr < FAKE_BASE || len > FAKE_BYTES + fake.zeros ||
	    addr - FAKE_BASE > FAKE_BYTES + fake.zeros - len)
		return -EFAULT;
	addr -= FAKE_BASE;
	here = addr < FAKE_BYTES ? FAKE_BYTES - addr : 0;
	here = here < len ? here : len;
	memcpy(buf, fake.bytes + addr, here);
	memset((uint8_t *)buf + here, 0, len - here);
	return 0;
}

static void fake_put(uint64_t addr, const void *bytes, size_t len)
{
	memcpy(fake.bytes + (addr - FAKE_BASE), bytes, len);
}

static void fake_u64(uint64_t addr, uint64_t v)
{
	fake_put(addr, &v, sizeof(v));
}

static void fake_u32(uint64_t addr, uint32_t v)
{
	fake_put(addr, &v, sizeof(v));
}

static uint64_t fake_small(int32_t v)
{
	return (uint64_t)(uint32_t)v << 32;
}

/* Begin an object of @type at @addr. Returns what points to it. */
static uint64_t fake_object(uint64_t addr, uint32_t type)
{
	uint64_t map = FAKE_MAPS + type * 16;

	fake_u32(map + OP_NODE_MAP_TYPE, type);
	fake_u64(addr, map + 1);
	return addr + 1;
}

/* String number @n. */
static uint64_t fake_string(uint32_t n, const char *text)
{
	uint64_t addr = FAKE_STRINGS + n * 256;
	uint64_t object = fake_object(addr, FAKE_STRING_TYPE);

	fake_u32(addr + 12, (uint32_t)strlen(text));
	fake_put(addr + 16, text, strlen(text));
	return object;
}

static uint64_t fake_bytes(uint64_t addr, const void *bytes, size_t len)
{
	uint64_t object = fake_object(addr, FAKE_ARRAY_TYPE);

	fake_u64(addr + OP_NODE_LENGTH, fake_small((int32_t)len));
	fake_put(addr + OP_NODE_ELEMENTS, bytes, len);
	return object;
}

/* An array of @len elements or bytes that are zero; fake.zeros says how many can be read. */
static uint64_t fake_long(int32_t len)
{
	uint64_t object = fake_object(FAKE_LONG, FAKE_ARRAY_TYPE);

	fake_u64(FAKE_LONG + OP_NODE_LENGTH, fake_small(len));
	return object;
}

static void fake_element(uint64_t array, uint32_t i, uint64_t word)
{
	fake_u64(array + OP_NODE_ELEMENTS + i * 8, word);
}

static uint64_t fake_shared(uint64_t addr, uint64_t name, uint32_t id)
{
	uint64_t object = fake_object(addr, FAKE_SHARED_TYPE);

	fake_u64(addr + fake_layout.shared_name, name);
	fake_u64(addr + fake_layout.shared_script, FAKE_SCRIPT + 1);
	fake_u32(addr + fake_layout.shared_token, 0xffff);
	fake_u32(addr + fake_layout.shared_id, id);
	return object;
}

/* Code of @size bytes at @start, whose Code object is at @addr. */
static void fake_code(uint64_t addr, uint64_t start, uint32_t size, uint64_t deopt,
		      uint64_t table)
{
	uint64_t object = fake_object(addr, FAKE_CODE_TYPE);
	uint64_t stream = start - fake_layout.code_bytes;

	fake_u64(addr + fake_layout.code_deopt, deopt);
	fake_u64(addr + op_node_code_positions(&fake_layout), table);
	fake_u64(addr + fake_layout.code_start, start);
	fake_u32(addr + fake_layout.code_size, size);
	(void)fake_object(stream, FAKE_STREAM_TYPE);
	fake_u64(stream + 8, object);
}

/* The raw form of a place: character @offset of inlined call @inlining. */
static uint64_t fake_place(int32_t offset, int32_t inlining)
{
	return (uint64_t)(uint32_t)(offset + 1) << 1 | (uint64_t)(uint32_t)(inlining + 1)
							       << 31;
}

/*
 * A script of lines "ab\n", "cdef\n", "gh". outer() begins at character 3 (line 2), with the
 * word `function` as much before; of its bytecodes {4, 5 x, 6 x x} the second is at
 * character 4 and the third at 8 (line 3). Baseline code has a prologue of 4 bytes, then 2,
 * 4 and 8 bytes. Optimized code: at its byte 16 the call of inner(), which is at character
 * 5, is inlined; inner() is at character 9 there.
 */
static void fake_build(void)
{
	static const uint8_t bytecode_table[] = { 0x01, 16, 0x02, 4, 0x03, 16 };
	static const uint8_t baseline_table[] = { 4, 2, 4, 8 };
	static const uint8_t bytecodes[] = { 4, 5, 0, 6, 0, 0 };
	uint8_t optimized_table[16];
	uint64_t inlining[2] = { 0 };
	size_t len = 0;
	uint64_t z;
	uint64_t table;
	uint64_t outer;
	uint64_t inner;
	uint64_t deopt;
	uint64_t bytecode;

	memset(&fake, 0, sizeof(fake));
	fake.memory.read = fake_read;
	deopt = fake_object(FAKE_DEOPT, FAKE_ARRAY_TYPE);
	bytecode = fake_object(FAKE_BYTECODE, FAKE_BYTECODE_TYPE);

	(void)fake_object(FAKE_SCRIPT, FAKE_SCRIPT_TYPE);
	fake_u64(FAKE_SCRIPT + OP_NODE_SCRIPT_SOURCE, fake_string(0, "ab\ncdef\ngh"));
	fake_u64(FAKE_SCRIPT + OP_NODE_SCRIPT_NAME, fake_string(1, "/dir/file.js"));

	(void)fake_object(FAKE_OUTER_SCOPE, FAKE_SCOPE_TYPE);
	fake_u64(FAKE_OUTER_SCOPE + 8 + 2 * 8, fake_small(1)); /* one local, its kind */
	fake_u64(FAKE_OUTER_SCOPE + 8 + 3 * 8, fake_string(2, "local"));
	fake_u64(FAKE_OUTER_SCOPE + 8 + 5 * 8, fake_string(3, "outer"));
	fake_u64(FAKE_OUTER_SCOPE + 8 + 6 * 8, fake_small(-1));
	fake_u64(FAKE_OUTER_SCOPE + 8 + 7 * 8, fake_small(3));
	fake_u64(FAKE_OUTER_SCOPE + 8 + 8 * 8, fake_small(9));
	outer = fake_shared(FAKE_OUTER, FAKE_OUTER_SCOPE + 1, 7);
	inner = fake_shared(FAKE_INNER, fake_string(4, "inner"), 8);

	/* {-1: place 3}, {0: place 4}, {2: place 8} */
	table = fake_bytes(FAKE_BYTECODE_TABLE, bytecode_table, sizeof(bytecode_table));
	fake_u64(FAKE_BYTECODE + OP_NODE_LENGTH, fake_small(sizeof(bytecodes)));
	fake_u64(FAKE_BYTECODE + fake_layout.array_positions, table);
	fake_put(FAKE_BYTECODE + fake_layout.array_bytes, bytecodes, sizeof(bytecodes));

	fake_code(
		FAKE_BASELINE, FAKE_BASELINE_START, FAKE_CODE_BYTES, bytecode,
		fake_bytes(FAKE_BASELINE_TABLE, baseline_table, sizeof(baseline_table)));

	/* {0: place 4}, {16: place 9 in inlined call 0} */
	optimized_table[len++] = 0x02; /* from -1 to 0 */
	optimized_table[len++] = (uint8_t)(fake_place(4, -1) << 1);
	optimized_table[len++] = 16 << 1;
	for (z = (fake_place(9, 0) - fake_place(4, -1)) << 1; z >= 0x80; z >>= 7)
		optimized_table[len++] = (uint8_t)(z | 0x80);
	optimized_table[len++] = (uint8_t)z;
	table = fake_bytes(FAKE_OPTIMIZED_TABLE, optimized_table, len);
	fake_u64(FAKE_DEOPT + OP_NODE_LENGTH, fake_small(8));
	fake_element(FAKE_DEOPT, fake_layout.deopt_shared, outer);
	(void)fake_object(FAKE_LITERALS, FAKE_ARRAY_TYPE);
	fake_u64(FAKE_LITERALS + OP_NODE_LENGTH, fake_small(1));
	fake_element(FAKE_LITERALS, 0, inner | 2); /* weak */
	fake_element(FAKE_DEOPT, fake_layout.deopt_literals, FAKE_LITERALS + 1);
	inlining[0] = fake_place(5, -1);
	fake_element(FAKE_DEOPT, fake_layout.deopt_inlining,
		     fake_bytes(FAKE_INLINING, inlining, sizeof(inlining)));
	fake_code(FAKE_OPTIMIZED, FAKE_OPTIMIZED_START, FAKE_CODE_BYTES, deopt, table);
}

#endif
