/* SPDX-License-Identifier: Apache-2.0 */
/* Functions, names and lines of frames, of objects that are made here. */
#include "runtime/runtime.h"

#include "lua_fake.h"
#include "test.h"

enum {
	FILE_NAME = BASE + 0x100,
	WORK = BASE + 0x200,
	PROTO = BASE + 0x400,
	INNER = BASE + 0x800,
	TRACE = BASE + 0x1000,
	CONSTANTS = BASE + 0x2000,
	SNAPS = BASE + 0x3000,
	ENTRIES = BASE + 0x4000,
	LOWEST = 0x8000 - 5,
	LINK = LOWEST + 2, /* the constant with a frame's link */
	CODE = 0x7000,
};

static void *instance;

static void begin(void)
{
	struct op_runtime_target target = { .memory = &fake.memory };
	struct op_lua image = { .jump = 1 };
	struct op_lua lua;

	fake_begin();
	put_string(FILE_NAME, "@known.lua");
	put_string(WORK, "work");
	put_proto(PROTO, FILE_NAME, WORK);
	CHECK_OK(op_runtime_lua.attach(&image, &target, NULL, &lua, &instance));
}

static struct op_runtime_frame describe(const uint64_t *words, size_t len)
{
	struct op_runtime_frame ret = { .len = 0 };

	CHECK_OK(op_runtime_lua.describe(instance, words, len, &ret));
	return ret;
}

/* A function has its line, and the name that its caller's bytecode says. */
static void test_code(void)
{
	const uint64_t words[] = { PROTO, place_of(FILE_NAME, 3), PROTO,
				   place_of(FILE_NAME, 3) };
	struct op_runtime_frame f;

	begin();
	f = describe(words, 2);
	CHECK_INT(f.len, 1);
	CHECK_STR(f.function[0].name, "function <known.lua:10>");
	CHECK_STR(f.function[0].file, "known.lua");
	CHECK_INT(f.function[0].line, 12);
	CHECK_INT(f.function[0].start_line, 10);
	f = describe(words, 4);
	CHECK_STR(f.function[0].name, "work");
	op_runtime_lua.detach(instance);
}

static void test_places(void)
{
	static const uint32_t places[][2] = { { 0, 10 },
					      { 1, 10 },
					      { 2, 11 },
					      { 4, 13 },
					      { OP_LUA_NO_PLACE, 10 },
					      { OP_LUA_RETURNS, 13 } };
	size_t i;

	begin();
	for (i = 0; i < OP_ARRAY_SIZE(places); i++) {
		const uint64_t words[] = { PROTO, place_of(FILE_NAME, places[i][0]) };

		CHECK_INT(describe(words, 2).function[0].line, places[i][1]);
	}
	op_runtime_lua.detach(instance);
}

/* A function in C, and one that is gone: other code has its address. */
static void test_others(void)
{
	const uint64_t c[] = { 0x1234, OP_LUA_C << OP_LUA_KIND_SHIFT | 5 };
	const uint64_t plain[] = { 0x1234, OP_LUA_C << OP_LUA_KIND_SHIFT | 1 };
	const uint64_t gone[] = { PROTO, place_of(WORK, 3) };
	struct op_runtime_frame f;

	begin();
	CHECK_STR(describe(c, 2).function[0].name, "[builtin#5]");
	CHECK_STR(describe(plain, 2).function[0].name, "[C] at 0x1234");
	f = describe(gone, 2);
	CHECK_INT(f.len, 1);
	CHECK(strstr(f.function[0].name, "10400"));
	CHECK_INT(op_runtime_lua.describe(instance, gone, 3, &f), -EBADMSG);
	op_runtime_lua.detach(instance);
}

static void put_snap(uint32_t i, uint32_t first, uint16_t code, uint8_t entries)
{
	put_u32(SNAPS + i * 12, first);
	put(SNAPS + i * 12 + 6, &code, 2);
	put(SNAPS + i * 12 + 10, &entries, 1);
}

/* A trace of two snapshots: in the second a function is inlined. */
static void put_trace(void)
{
	const uint16_t snaps = 2;
	const uint8_t is_proto = 7;

	put_proto(INNER, FILE_NAME, WORK);
	put_type(TRACE, 9);
	put(TRACE + 10, &snaps, 2);
	put_u64(TRACE + 32, CONSTANTS - LOWEST * 8ULL);
	put_u32(TRACE + 40, LOWEST);
	put_u32(TRACE + 44, 5);
	put_u64(TRACE + 48, SNAPS);
	put_u64(TRACE + 56, ENTRIES);
	put_u64(TRACE + 64, PROTO);
	put_u64(TRACE + 72, PROTO + CODE_AT);
	put_u64(TRACE + 88, CODE);
	put(CONSTANTS + 4, &is_proto, 1);
	put_u64(CONSTANTS + 8, INNER);
	put_u64(CONSTANTS + 24, PROTO + CODE_AT + 12);
	put_snap(0, 0, 0, 0);
	put_u64(ENTRIES, (PROTO + CODE_AT + 4) << 8);
	put_snap(1, 2, 0x20, 1);
	put_u32(ENTRIES + 8, 4U << 24 | 0x10000 | LINK);
	put_u64(ENTRIES + 12, (INNER + CODE_AT + 8) << 8 | 3);
}

static void test_trace(void)
{
	uint64_t words[OP_LUA_TRACE_WORDS] = {
		TRACE,
		0x1f | OP_LUA_TRACE << OP_LUA_KIND_SHIFT |
			(uint64_t)op_lua_guard(PROTO, PROTO + CODE_AT, CODE) << 32,
		0,
		0,
		PROTO,
		place_of(FILE_NAME, OP_LUA_NO_PLACE),
	};
	struct op_runtime_frame f;

	begin();
	put_trace();
	f = describe(words, 6);
	CHECK_INT(f.len, 1);
	CHECK_INT(f.function[0].line, 11);
	words[1]++;
	f = describe(words, 6);
	CHECK_INT(f.len, 2);
	CHECK_STR(f.function[0].name, "work");
	CHECK_INT(f.function[0].line, 12);
	CHECK_STR(f.function[1].name, "function <known.lua:10>");
	CHECK_INT(f.function[1].line, 12);
	/* another trace at its address: what it entered is known */
	words[1] ^= 1ULL << 40;
	f = describe(words, 6);
	CHECK_INT(f.len, 1);
	CHECK_STR(f.function[0].name, "function <known.lua:10>");
	op_runtime_lua.detach(instance);
}

TEST_MAIN({ "code", test_code }, { "places", test_places }, { "others", test_others },
	  { "trace", test_trace })
