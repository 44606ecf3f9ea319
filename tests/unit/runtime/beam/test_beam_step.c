/* SPDX-License-Identifier: Apache-2.0 */
/* The BEAM step over Erlang stacks that are made here. */
#define __TARGET_ARCH_x86
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#include "code/unwind/host.h"

#include "bpf/runtime/beam.h"

#include "fake_memory.h"
#include "test.h"

enum {
	THREAD = BASE,
	SCHEDULER = BASE + 0x100,
	PROCESS = BASE + 0x200,
	LIST = BASE + 0x300,
	ENTRY = BASE + 0x340,
	STACK = BASE + 0x1000,
	REGISTERS = BASE + 0x8000, /* on the thread's stack */
	SHARED = BASE + 0xa000,	   /* code */
	LOOP = SHARED + 0x800,
	EXIT = SHARED + 0x1100,
	CODE = BASE + 0xc000,
	CODE_END = BASE + 0xf000,
	CALLER = BASE + 0xf800, /* C code */
	NIL = 0x3b,		/* a term */
	CURRENT = 0xa8,
	STOP = 0x58,
};

static uint8_t slab[OP_SLAB_BYTES] __attribute__((aligned(8)));
static uint64_t words[OP_WORDS_MAX];
static struct op_unwind_input input = { .memory = &fake.memory };
static struct op_unwind_context context = { .input = &input, .words = words };
static uint64_t top;

static void push(uint64_t word)
{
	top -= 8;
	put_u64(top, word);
}

/* A process's first function returns to EXIT. */
static void begin(void)
{
	fake_begin();
	memset(slab, 0, sizeof(slab));
	*(struct op_beam *)(slab + 64) = (struct op_beam){
		.list = LIST,
		.begin = SHARED,
		.end = CODE_END,
		.shared = SHARED,
		.shared_end = SHARED + 0x1000,
		.loop = LOOP,
		.loop_end = LOOP + 0x100,
		.exit = EXIT,
		.exit_end = EXIT + 8,
		.caller = CALLER,
		.caller_end = CALLER + 0x40,
		.at = 0x10,
		.block = 8,
		.current = CURRENT,
		.registers_at = 0x80,
		.registers_bytes = 0x1000,
	};
	put_u64(LIST, ENTRY);
	put_u64(ENTRY, 0x1234);
	put_u64(THREAD + 0x10, SCHEDULER - 0x40);
	put_u64(SCHEDULER - 0x40 + 8, SCHEDULER);
	put_u64(SCHEDULER + CURRENT, PROCESS);
	context.last_slab = slab;
	top = STACK + 0x4000;
	push(EXIT);
}

static struct op_unwind walk_at(uint64_t pc, bool exact)
{
	struct op_unwind u = {
		.platform = (uintptr_t)&context,
		.pc = pc,
		.sp = exact ? top : REGISTERS,
		.exact = exact,
		.process.thread_pointer = THREAD,
		.step = OP_RUNTIME_BEAM,
		.out.max_frames = 100,
		.window_at = ~0ULL,
		.state = { .instance = 1,
			   .ref = 64 >> OP_REF_SHIFT,
			   .runtime = OP_RUNTIME_BEAM },
	};

	u.reg[OP_BE_RBX] = REGISTERS + 0x80;
	u.reg[OP_BE_R13] = PROCESS;
	return u;
}

/* Returns why the walk ended. */
static uint32_t walk(struct op_unwind *u)
{
	int steps = 0;

	while (u->step == OP_RUNTIME_BEAM && steps++ < 1000)
		if (op_step_beam(u) == OP_NEXT_END)
			return u->end;
	return 0;
}

static uint64_t frame(uint32_t i)
{
	return words[i * OP_BEAM_FRAME_WORDS] & OP_FRAME_ADDRESS_MASK;
}

/* Frames without terms, with a few, and with more than a step looks at. */
static void test_frames(void)
{
	struct op_unwind u;
	int i;

	begin();
	push(CODE + 0x300);
	for (i = 0; i < 1024; i++)
		push(NIL);
	push(CODE + 0x200);
	push(NIL);
	push(CODE + 0x101); /* a term that looks like code */
	push(0);
	push(CODE + 0x100);
	u = walk_at(CODE + 0x10, true);
	CHECK_INT(walk(&u), OP_END_COMPLETE);
	CHECK_INT(u.out.frames, 4);
	CHECK_INT(frame(0), CODE + 0x10);
	CHECK_INT(frame(1), CODE + 0xff);
	CHECK_INT(frame(2), CODE + 0x1ff);
	CHECK_INT(frame(3), CODE + 0x2ff);
	CHECK_INT(words[1], op_beam_guard(ENTRY, 0x1234, 0, 0));
}

/* The return address of code that modules share may be odd. */
static void test_shared(void)
{
	struct op_unwind u;

	begin();
	push(CODE + 0x200);
	push(NIL);
	push(CODE + 0x97);
	u = walk_at(SHARED + 0x20, true);
	CHECK_INT(walk(&u), OP_END_COMPLETE);
	CHECK_INT(u.out.frames, 3);
	CHECK_INT(frame(1), CODE + 0x96);
}

/* C code was called: the stack was put away in rbp, or in the process. */
static void test_below_c(void)
{
	static const uint8_t by_rbp[] = { 0x48, 0x89, 0xc2, 0x48, 0x89, 0xec };
	static const uint8_t by_stop[] = { 0x90, 0x49, 0x8b, 0x65, STOP };
	struct op_unwind u;

	begin();
	push(CODE + 0x200);
	put(CODE + 0x40, by_rbp, sizeof(by_rbp));
	put(CODE + 0x60, by_stop, sizeof(by_stop));
	put_u64(PROCESS + STOP, top);
	u = walk_at(CODE + 0x40, false);
	u.fp = top;
	CHECK_INT(walk(&u), OP_END_COMPLETE);
	CHECK_INT(u.out.frames, 2);
	u = walk_at(CODE + 0x60, false);
	u.fp = 1;
	CHECK_INT(walk(&u), OP_END_COMPLETE);
	CHECK_INT(u.out.frames, 2);
	CHECK_INT(frame(0), CODE + 0x5f);
	CHECK_INT(frame(1), CODE + 0x1ff);
	/* interrupted between the two stacks */
	u = walk_at(CODE + 0x60, true);
	u.sp = REGISTERS;
	u.process.thread_pointer = 0;
	CHECK_INT(walk(&u), OP_END_COMPLETE);
	CHECK_INT(u.out.frames, 2);
}

/* The scheduler's loop returns to C code, from a frame that it has aligned. */
static void test_loop(void)
{
	struct op_unwind u;
	uint64_t i;

	for (i = 1; i < 8; i += 2) {
		begin();
		put_u64(REGISTERS + 0x1000 + i * 8, CALLER + 5);
		u = walk_at(LOOP + 4, i & 2);
		CHECK_INT(walk(&u), 0);
		CHECK_INT(u.step, OP_STEP_NATIVE);
		CHECK_INT(u.out.frames, 1);
		CHECK_INT(u.pc, CALLER + 5);
		CHECK_INT(u.sp, REGISTERS + 0x1008 + i * 8);
		CHECK_INT(u.exact, 0);
	}
}

/* Where memory ends, a step reads word by word. */
static void test_end_of_memory(void)
{
	struct op_unwind u;

	begin();
	top = BASE + BYTES;
	push(EXIT);
	push(NIL);
	push(NIL);
	push(CODE + 0x100);
	u = walk_at(CODE + 0x10, true);
	CHECK_INT(walk(&u), OP_END_COMPLETE);
	CHECK_INT(u.out.frames, 2);
}

/* The leaf's frame is in a page that is not there yet. */
static void test_new_page(void)
{
	struct op_unwind u;

	begin();
	put_u64(BASE, CODE + 0x100);
	put_u64(BASE + 8, EXIT);
	u = walk_at(CODE + 0x10, true);
	u.sp = BASE - 16;
	CHECK_INT(walk(&u), OP_END_COMPLETE);
	CHECK_INT(u.out.frames, 2);
	CHECK_INT(frame(1), CODE + 0xff);
}

static void test_errors(void)
{
	static const uint8_t by_rbp[] = { 0x48, 0x89, 0xec };
	struct op_unwind u;
	int i;

	begin();
	u = walk_at(CODE + 0x40, false); /* no instruction takes the stack back */
	CHECK_INT(walk(&u), OP_ERROR_beam_no_stack);
	CHECK_INT(u.out.frames, 1);
	put(CODE + 0x40, by_rbp, sizeof(by_rbp));
	u = walk_at(CODE + 0x40, false);
	u.fp = STACK + 1;
	CHECK_INT(walk(&u), OP_ERROR_beam_no_stack);
	u = walk_at(CODE + 0x40, false);
	u.heap_moved = 1;
	CHECK_INT(walk(&u), OP_ERROR_beam_late);
	u = walk_at(EXIT + 4, false);
	put(EXIT + 4, by_rbp, sizeof(by_rbp));
	u.fp = STACK;
	CHECK_INT(walk(&u), OP_END_COMPLETE);
	CHECK_INT(u.out.frames, 1);
	u = walk_at(LOOP + 4, false);
	CHECK_INT(walk(&u), OP_ERROR_beam_read_frame);
	u = walk_at(CODE + 0x10, true);
	u.sp = 8;
	CHECK_INT(walk(&u), OP_ERROR_beam_read_frame);
	for (i = 0; i < 1200; i++)
		put_u64(STACK + 8 * (uint64_t)i, NIL);
	top = STACK;
	u = walk_at(CODE + 0x10, true);
	CHECK_INT(walk(&u), OP_ERROR_beam_no_return);
}

TEST_MAIN({ "frames", test_frames }, { "shared", test_shared },
	  { "below_c", test_below_c }, { "loop", test_loop },
	  { "end_of_memory", test_end_of_memory }, { "new_page", test_new_page },
	  { "errors", test_errors })
