/* SPDX-License-Identifier: Apache-2.0 */
/* The LuaJIT step over a stack that is made here, whole and damaged. */
#define __TARGET_ARCH_x86
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#include "code/unwind/host.h"

#include "bpf/runtime/lua.h"

#include "lua_fake.h"
#include "test.h"

enum {
	STATE = BASE + 0x200,
	FILE_NAME = BASE + 0x300,
	OUTER_CODE = BASE + 0x400,
	INNER_CODE = BASE + 0x800,
	OUTER = BASE + 0xc00, /* functions */
	INNER = BASE + 0xc80,
	IN_C = BASE + 0xd00,
	STACK = BASE + 0x1000,
	OUTER_BASE = STACK + 0x20,
	INNER_BASE = OUTER_BASE + 16 + 8 * 2,
	SP = BASE + 0x8000,
	LOOP = 0x400000,
	FRAME_C = 1,
	FRAME_VARG = 3,
};

static uint8_t slab[OP_SLAB_BYTES] __attribute__((aligned(8)));
static uint64_t words[OP_WORDS_MAX];
static struct op_unwind_input input = { .memory = &fake.memory };
static struct op_unwind_context context = { .input = &input, .words = words };

static void put_function(uint64_t addr, uint8_t ffid, uint64_t code)
{
	put_type(addr, 8);
	put(addr + 10, &ffid, 1);
	put_u64(addr + 32, code);
	put_u64(addr + 40, 0x1234);
}

/* C calls OUTER, which calls INNER. */
static void begin(void)
{
	fake_begin();
	put_proto(OUTER_CODE, FILE_NAME, 0);
	put_proto(INNER_CODE, FILE_NAME, 0);
	put_function(OUTER, 0, OUTER_CODE + CODE_AT);
	put_function(INNER, 0, INNER_CODE + CODE_AT);
	put_function(IN_C, 7, 0);
	put_u64(OUTER_BASE - 16, OUTER);
	put_u64(OUTER_BASE - 8, (OUTER_BASE - (STACK + 16)) | FRAME_C);
	put_u64(INNER_BASE - 16, INNER);
	put_u64(INNER_BASE - 8, OUTER_CODE + CODE_AT + 12);
	put_type(STATE, 6);
	put_u64(STATE + 32, INNER_BASE);
	put_u64(STATE + 48, STACK + 0x1000);
	put_u64(STATE + 56, STACK);
	put_u64(STATE + 80, SP);
	put_u64(SP + 16, STATE);
	put_u64(SP + 24, INNER_CODE + CODE_AT + 8);
	context.last_slab = slab;
}

static struct op_unwind walk(void)
{
	struct op_unwind u = {
		.platform = (uintptr_t)&context,
		.pc = LOOP,
		.sp = SP,
		.step = OP_RUNTIME_LUA,
		.out.max_frames = 100,
		.window_at = ~0ULL,
		.state = { .instance = 1,
			   .ref = 64 >> OP_REF_SHIFT,
			   .runtime = OP_RUNTIME_LUA },
	};
	int steps = 0;

	while (u.step == OP_RUNTIME_LUA && steps++ < 200)
		CHECK_INT(op_step_lua(&u), OP_NEXT_CONTINUE);
	CHECK(steps < 200);
	CHECK_INT(u.runtime_done, 1);
	return u;
}

static void test_frames(void)
{
	struct op_unwind u;

	begin();
	u = walk();
	CHECK_INT(u.state.error, 0);
	CHECK_INT(u.out.frames, 2);
	CHECK_INT(words[0] & OP_FRAME_ADDRESS_MASK, INNER_CODE);
	CHECK_INT(words[1], place_of(FILE_NAME, 2));
	CHECK_INT(words[2], OUTER_CODE);
	CHECK_INT(words[3], place_of(FILE_NAME, 3));
	CHECK_INT(words[4] & OP_FRAME_ADDRESS_MASK, OUTER_CODE);
	CHECK_INT(u.out.words, 6);
}

/* A function with variable arguments has its frame twice; one in C has no place. */
static void test_vararg(void)
{
	struct op_unwind u;
	uint64_t copy = INNER_BASE + 0x20;

	begin();
	put_u64(copy - 16, IN_C);
	put_u64(copy - 8, (copy - INNER_BASE) | FRAME_VARG);
	put_u64(STATE + 32, copy);
	u = walk();
	CHECK_INT(u.state.error, 0);
	CHECK_INT(u.out.frames, 2);
	CHECK_INT(words[0] & OP_FRAME_ADDRESS_MASK, 0x1234);
	CHECK_INT(words[1], OP_LUA_C << OP_LUA_KIND_SHIFT | 7);
}

/* C that the interpreter called with a C frame alone: all frames are of an outer activation. */
static void test_frameless(void)
{
	struct op_unwind u;

	begin();
	put_u32(SP + 8, (uint32_t)(STACK - (INNER_BASE + 8)));
	u = walk();
	CHECK_INT(u.state.error, 0);
	CHECK_INT(u.out.frames, 0);
}

static void test_damaged(void)
{
	struct op_unwind u;

	begin();
	put_type(STATE, 8); /* no lua_State */
	CHECK_INT(walk().state.error, OP_ERROR_lua_no_activation);
	begin();
	put_u64(STATE + 80, SP + 0x100); /* of another C frame */
	CHECK_INT(walk().state.error, OP_ERROR_lua_no_activation);
	begin();
	put_type(INNER, 7);
	CHECK_INT(walk().state.error, OP_ERROR_lua_read_frame);
	begin();
	put_u64(INNER_BASE - 8, FRAME_VARG); /* its own caller */
	CHECK_INT(walk().state.error, OP_ERROR_lua_read_frame);
	begin();
	put_u64(OUTER_BASE - 8, 0); /* no pc */
	u = walk();
	CHECK_INT(u.state.error, OP_ERROR_lua_read_frame);
	CHECK_INT(u.out.frames, 1);
	begin();
	put_u64(OUTER_BASE - 8, 0x100001); /* below the stack */
	CHECK_INT(walk().state.error, OP_ERROR_lua_read_frame);
}

TEST_MAIN({ "frames", test_frames }, { "vararg", test_vararg },
	  { "frameless", test_frameless }, { "damaged", test_damaged })
