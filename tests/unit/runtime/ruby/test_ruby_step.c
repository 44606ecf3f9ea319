/* SPDX-License-Identifier: Apache-2.0 */
/* The Ruby step over control frames that are made here: which run belongs to which activation. */
#define __TARGET_ARCH_x86
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#include "code/unwind/host.h"

#include "bpf/runtime/ruby.h"

#include "ruby_fake.h"
#include "test.h"

enum {
	/* where things are put */
	THREAD = BASE,
	EC = BASE + 0x200,
	STACK = BASE + 0x1000,
	STACK_WORDS = 0x200,
	/* of the fiber whose execution context is EC, and of the one that resumed it */
	FIBER = EC - 80,
	RESUMER = BASE + 0x600,
	RESUMER_STACK = BASE + 0x2000,
	FIBER_PREV = 512,
	EC_FIBER = 40,
	ENVS = BASE + 0x4000,
	ISEQS = BASE + 0x6000,
	BODIES = BASE + 0x8000,
	METHODS = BASE + 0xc000,
	/* native code and its stack */
	CORE = 0x400000,
	EXEC = 0x410000,
	AFTER = 0x410100,
	CALLERS = 0x420000,
	PLT = 0x430000,
	SP = 0x7000,
	CFA = 0x7200,
	/* of frames */
	METHOD = 0x11110001,
	BLOCK = 0x22220001,
	IN_C = 0x55550081,
	DUMMY = 0x79990081,
	FINISH = 0x20,
};

static uint8_t slab[OP_SLAB_BYTES] __attribute__((aligned(8)));
static uint64_t words[OP_WORDS_MAX];
static struct op_unwind_input input = { .memory = &fake.memory };
static struct op_unwind_context context = { .input = &input, .words = words };
static uint32_t frames;
/* Where the next frame goes. */
static struct {
	uint64_t ec;
	uint64_t stack;
	uint32_t frames;
} to;

static struct op_ruby *process(void)
{
	return (struct op_ruby *)(slab + 64);
}

/* The address of the newest frame. */
static uint64_t newest(void)
{
	return to.stack + STACK_WORDS * 8 - (uint64_t)to.frames * layout.frame_bytes;
}

/* The next frame inwards; code of Ruby is at its instruction @next. */
static void push(uint64_t flags, uint32_t next)
{
	uint64_t env = ENVS + frames * 0x40;
	uint64_t iseq = ISEQS + frames * 0x40;
	uint64_t body = BODIES + frames * 0x100;
	uint64_t method = METHODS + frames * 0x40;
	bool has_code = !(flags & 0x80);
	uint64_t at;

	frames++;
	to.frames++;
	at = newest();
	put_u64(at, has_code ? 0x100000 + frames * 0x1000 + next * 8 : 0);
	put_u64(at + OP_RUBY_FRAME_ISEQ, has_code ? iseq : 0);
	put_u64(at + OP_RUBY_FRAME_EP, env);
	put_u64(env, flags);
	put_u64(env - 16, method);
	put_u64(method + OP_RUBY_METHOD_DEF, frames);
	put_u64(iseq + OP_RUBY_ISEQ_BODY, body);
	put_body(body, 0x100000 + frames * 0x1000, 9, 0, 0, 1);
	put_u64(to.ec + 16, at);
}

/* Frames go to the execution context @ec from here on. */
static void push_to(uint64_t ec, uint64_t stack)
{
	to.ec = ec;
	to.stack = stack;
	to.frames = 0;
	put_u64(ec, stack);
	put_u64(ec + 8, STACK_WORDS);
	push(DUMMY | FINISH, 0);
}

static void begin(const char *version)
{
	fake_version(version);
	memset(slab, 0, sizeof(slab));
	frames = to.frames = 0;
	*process() = (struct op_ruby){
		.ec_at = 0x20,
		.frame_bytes = layout.frame_bytes,
		.core = { CORE, CORE + 0x1000 },
		.after = { { AFTER, AFTER + 0x20 } },
		.callers = { CALLERS, CALLERS + 0x1000 },
		.plt = { PLT, PLT + 0x1000 },
	};
	put_u64(THREAD + 0x20, EC);
	put_u64(EC + 24, SP + 0x80);
	context.last_slab = slab;
	push_to(EC, STACK);
	push(METHOD | FINISH, 5); /* the main program */
}

/* A walk that has come to @pc. */
static struct op_unwind walk_at(uint64_t pc, bool exact)
{
	return (struct op_unwind){
		.platform = (uintptr_t)&context,
		.pc = pc,
		.sp = SP,
		.loop_cfa = CFA,
		.exact = exact,
		.process.thread_pointer = THREAD,
		.step = OP_RUNTIME_RUBY,
		.out.max_frames = 100,
		.window_at = ~0ULL,
		.state = { .instance = 1,
			   .ref = 64 >> OP_REF_SHIFT,
			   .runtime = OP_RUNTIME_RUBY },
	};
}

/* Walk the activation at @pc; returns the number of its frames. */
static uint32_t walk(struct op_unwind *u, uint64_t pc)
{
	uint32_t before = u->out.frames;
	int steps = 0;

	u->pc = pc;
	u->step = OP_RUNTIME_RUBY;
	while (u->step == OP_RUNTIME_RUBY && steps++ < 100)
		CHECK_INT(op_step_ruby(u, true), OP_NEXT_CONTINUE);
	CHECK_INT(u->state.error, 0);
	CHECK_INT(u->runtime_done, 1);
	u->exact = 0;
	return u->out.frames - before;
}

/* Two activations of vm_exec(), with a method in C between them. */
static void test_runs(void)
{
	static const char *const versions[] = { "2.7", "3.0", "3.1", "3.2", "3.3" };
	struct op_unwind u;
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(versions); i++) {
		begin(versions[i]);
		push(IN_C, 0);
		push(BLOCK | FINISH, 3);
		push(METHOD, 4);
		u = walk_at(CORE + 8, false);
		CHECK_INT(walk(&u, CORE + 8), 2);
		CHECK_INT(walk(&u, EXEC), 0);
		CHECK_INT(walk(&u, CORE + 8), 2);
		CHECK_INT(walk(&u, EXEC), 0);
		CHECK_INT((uint32_t)words[1], 4);
		CHECK_INT((uint32_t)words[3], 3);
		CHECK_INT((uint32_t)words[5], OP_RUBY_IN_C);
		CHECK_INT((uint32_t)words[7], 5);
		CHECK_INT(walk(&u, CORE + 8), 0);
	}
}

/* A fiber with one frame. It was resumed by a fiber with four, which nobody resumed. */
static struct op_unwind begin_fibers(void)
{
	begin("3.1");
	process()->ec_fiber = EC_FIBER;
	process()->fiber_prev = FIBER_PREV;
	put_u64(EC + EC_FIBER, FIBER);
	put_u64(FIBER + FIBER_PREV, RESUMER);
	push_to(RESUMER + (EC - FIBER), RESUMER_STACK);
	put_u64(to.ec + EC_FIBER, RESUMER);
	push(METHOD | FINISH, 2);
	push(IN_C, 0);
	push(BLOCK | FINISH, 3);
	push(IN_C, 0);
	return walk_at(CORE + 8, false);
}

static void test_fibers(void)
{
	struct op_unwind u = begin_fibers();
	uint32_t i;

	CHECK_INT(walk(&u, CORE + 8), 5);
	CHECK_INT((uint32_t)words[1], 5);
	CHECK_INT((uint32_t)words[3], OP_RUBY_IN_C);
	CHECK_INT((uint32_t)words[5], 3);
	CHECK_INT((uint32_t)words[7], OP_RUBY_IN_C);
	CHECK_INT((uint32_t)words[9], 2);
	CHECK_INT(walk(&u, EXEC), 0);
	CHECK_INT(u.error, 0);
	/* not known of this version, or not asked for */
	u = begin_fibers();
	process()->fiber_prev = 0;
	CHECK_INT(walk(&u, CORE + 8), 1);
	u = begin_fibers();
	for (i = 0; u.step == OP_RUNTIME_RUBY && i < 100; i++)
		CHECK_INT(op_step_ruby(&u, false), OP_NEXT_CONTINUE);
	CHECK_INT(u.out.frames, 1);
	/* no fiber at all */
	u = begin_fibers();
	put_u64(EC + EC_FIBER, 0);
	CHECK_INT(walk(&u, CORE + 8), 1);
	CHECK_INT(u.error, 0);
}

static void test_hostile_fibers(void)
{
	struct op_unwind u = begin_fibers();
	int steps = 0;

	put_u64(FIBER + FIBER_PREV, 0x7000000);
	CHECK_INT(walk(&u, CORE + 8), 1);
	CHECK_INT(u.error, OP_ERROR_ruby_fibers_cut);
	u = begin_fibers();
	put_u64(to.ec + 16, 0x7000000);
	CHECK_INT(walk(&u, CORE + 8), 1);
	CHECK_INT(u.error, OP_ERROR_ruby_fibers_cut);
	/* one that resumed itself */
	u = begin_fibers();
	put_u64(RESUMER + FIBER_PREV, RESUMER);
	u.out.max_frames = 1000;
	while (u.step == OP_RUNTIME_RUBY && steps++ < 1000)
		CHECK_INT(op_step_ruby(&u, true), OP_NEXT_CONTINUE);
	CHECK_INT(u.out.frames, 1 + 4 * OP_RUBY_FIBERS_MAX);
	CHECK_INT(u.error, OP_ERROR_ruby_fibers_cut);
}

/* Compiled code has no frame of vm_exec_core(): vm_exec() itself has the run. */
static void test_without_core(void)
{
	struct op_unwind u;

	begin("3.3");
	push(IN_C, 0);
	push(BLOCK | FINISH, 3);
	u = walk_at(EXEC + 8, false);
	CHECK_INT(walk(&u, EXEC + 8), 1);
	CHECK_INT(walk(&u, EXEC + 8), 2);
	/* its tag is gone: it throws to its caller, and its frame is popped */
	put_u64(EC + 24, CFA + 0x100);
	u = walk_at(EXEC + 8, false);
	CHECK_INT(walk(&u, EXEC + 8), 0);
	CHECK_INT(walk(&u, EXEC + 8), 1);
}

/* vm_exec_core() was interrupted behind the end of its run. */
static void test_ended_in_core(void)
{
	struct op_unwind u;

	begin("3.1");
	push(IN_C, 0);
	push(BLOCK | FINISH, 3);
	u = walk_at(CORE + 8, true);
	u.reg[15] = newest();
	CHECK_INT(walk(&u, CORE + 8), 1);
	/* popped, and the register not restored */
	put_u64(EC + 16, newest() + layout.frame_bytes);
	u = walk_at(CORE + 8, true);
	u.reg[15] = newest();
	CHECK_INT(walk(&u, CORE + 8), 0);
	CHECK_INT(walk(&u, EXEC), 0);
	CHECK_INT(walk(&u, CORE + 8), 2);
	/* the same of a frame that Ruby code called */
	begin("3.1");
	push(METHOD, 3);
	put_u64(EC + 16, newest() + layout.frame_bytes);
	u = walk_at(CORE + 8, true);
	u.reg[15] = newest();
	CHECK_INT(walk(&u, CORE + 8), 1);
	/* it returns: its registers are its caller's */
	begin("3.1");
	push(IN_C, 0);
	u = walk_at(CORE + 8, true);
	u.sp = CFA - 8;
	CHECK_INT(walk(&u, CORE + 8), 0);
	CHECK_INT(walk(&u, EXEC), 0);
	CHECK_INT(walk(&u, CORE + 8), 2);
	/* the same where it keeps its stack frame until it returns */
	process()->after[1][0] = CORE + 0x40;
	process()->after[1][1] = CORE + 0x48;
	u = walk_at(CORE + 0x40, true);
	u.reg[15] = newest();
	CHECK_INT(walk(&u, CORE + 0x40), 0);
	CHECK_INT(walk(&u, EXEC), 0);
	CHECK_INT(walk(&u, CORE + 8), 2);
	/* it was just called */
	push(BLOCK | FINISH, 0);
	u = walk_at(CORE + 8, true);
	u.sp = CFA - 8;
	CHECK_INT(walk(&u, CORE + 8), 1);
}

/* vm_exec() was interrupted. */
static void test_in_exec(void)
{
	struct op_unwind u;

	begin("3.1");
	push(IN_C, 0);
	/* it called vm_exec_core(), which has returned */
	u = walk_at(AFTER + 8, true);
	CHECK_INT(walk(&u, AFTER + 8), 0);
	CHECK_INT(walk(&u, CORE + 8), 2);
	/* so it has, and dropped its tag */
	put_u64(EC + 24, CFA + 8);
	u = walk_at(EXEC + 8, true);
	CHECK_INT(walk(&u, EXEC + 8), 0);
	/* it has no tag yet */
	push(BLOCK | FINISH, 0);
	u = walk_at(EXEC + 8, true);
	CHECK_INT(walk(&u, EXEC + 8), 1);
	/* it looks for who rescues */
	push(METHOD, 4);
	put_u64(EC + 24, SP + 8);
	u = walk_at(EXEC + 8, true);
	CHECK_INT(walk(&u, EXEC + 8), 2);
}

/* C code has pushed a frame, and has not called vm_exec() yet. */
static void test_calling(void)
{
	struct op_unwind u;

	begin("3.1");
	push(IN_C, 0);
	push(BLOCK | FINISH, 0);
	words[0] = op_frame_word(OP_FRAME_NATIVE_EXACT, CALLERS + 8);
	u = walk_at(CORE + 8, false);
	u.out.words = u.out.frames = 1;
	CHECK_INT(walk(&u, CORE + 8), 3);
	CHECK_INT(walk(&u, EXEC), 0);
	/* through the PLT */
	words[0] = op_frame_word(OP_FRAME_NATIVE_EXACT, PLT + 8);
	words[1] = op_frame_word(OP_FRAME_NATIVE, CALLERS + 8);
	u = walk_at(CORE + 8, false);
	u.out.words = u.out.frames = 2;
	CHECK_INT(walk(&u, CORE + 8), 3);
	CHECK_INT(walk(&u, EXEC), 0);
	/* vm_exec() calls through it */
	words[1] = op_frame_word(OP_FRAME_NATIVE, EXEC + 8);
	u = walk_at(CORE + 8, false);
	u.out.words = u.out.frames = 2;
	CHECK_INT(walk(&u, CORE + 8), 1);
	/* from elsewhere: the run's first instruction calls it */
	words[0] = op_frame_word(OP_FRAME_NATIVE_EXACT, CALLERS - 8);
	u = walk_at(CORE + 8, false);
	u.out.words = u.out.frames = 1;
	CHECK_INT(walk(&u, CORE + 8), 1);
}

/* A frame's word of its method entry, which its environment has, or that of a block's parent. */
static void test_methods(void)
{
	struct op_unwind u;
	uint64_t env;

	begin("3.4");
	process()->flags = OP_RUBY_CLASSES;
	push(BLOCK, 3);
	env = ENVS + (frames - 1) * 0x40;
	put_u32(BODIES + (frames - 1) * 0x100, OP_RUBY_ISEQ_BLOCK);
	/* nothing in its own environment; a variable of $~ before the method in the next */
	put_u64(env - 8, (ENVS + 0x1000) | 1);
	put_u64(ENVS + 0x1000, OP_RUBY_ENV_LOCAL);
	put_u64(ENVS + 0x1000 - 16, METHODS + 0x1000);
	put_u64(METHODS + 0x1000,
		OP_RUBY_IMEMO | OP_RUBY_IMEMO_SVAR << OP_RUBY_IMEMO_SHIFT);
	put_u64(METHODS + 0x1000 + OP_RUBY_SVAR_METHOD, METHODS + 0x1100);
	put_u64(METHODS + 0x1100,
		OP_RUBY_IMEMO | OP_RUBY_IMEMO_METHOD << OP_RUBY_IMEMO_SHIFT);
	u = walk_at(CORE + 8, false);
	CHECK_INT(walk(&u, CORE + 8), 2);
	CHECK_INT(op_frame_words(words[0]), 3);
	CHECK_INT(words[2] & OP_RUBY_ADDRESS_MASK, METHODS + 0x1100);
	/* an environment whose parent is itself */
	put_u64(env - 8, env);
	u = walk_at(CORE + 8, false);
	CHECK_INT(walk(&u, CORE + 8), 2);
	CHECK_INT(op_frame_words(words[0]), 2);
	/* code that rescues stands for its function */
	push(BLOCK, 2);
	put_u32(BODIES + (frames - 1) * 0x100, OP_RUBY_ISEQ_RESCUE);
	u = walk_at(CORE + 8, false);
	CHECK_INT(walk(&u, CORE + 8), 2);
	CHECK_INT((uint32_t)words[1], 2);
	CHECK_INT((uint32_t)words[3], 5);
}

/* A thread that begins with a function in C, which no activation calls. */
static void test_begun_in_c(void)
{
	struct op_unwind u;

	begin("3.1");
	frames = to.frames = 1;
	push(IN_C, 0);
	push(IN_C, 0);
	push(BLOCK | FINISH, 3);
	u = walk_at(CORE + 8, false);
	CHECK_INT(walk(&u, CORE + 8), 3);
	CHECK_INT(walk(&u, EXEC), 0);
}

static uint32_t error_at(uint64_t pc)
{
	struct op_unwind u = walk_at(pc, false);

	CHECK_INT(op_step_ruby(&u, true), OP_NEXT_CONTINUE);
	CHECK_INT(u.step, OP_STEP_NATIVE);
	CHECK_INT(u.out.frames, 0);
	return u.state.error;
}

static void test_hostile(void)
{
	struct op_unwind u;
	int i;

	begin("3.1");
	put_u64(THREAD + 0x20, 0);
	CHECK_INT(error_at(CORE + 8), OP_ERROR_ruby_no_context);
	begin("3.1");
	put_u64(THREAD + 0x20, 8);
	CHECK_INT(error_at(CORE + 8), OP_ERROR_ruby_read_context);
	begin("3.1");
	put_u64(EC + 16, STACK - 8);
	CHECK_INT(error_at(CORE + 8), OP_ERROR_ruby_read_context);
	begin("3.1");
	put_u64(EC + 8, UINT64_MAX / 8);
	CHECK_INT(error_at(CORE + 8), OP_ERROR_ruby_read_context);
	begin("3.1");
	put_u64(newest() + OP_RUBY_FRAME_EP, 1);
	CHECK_INT(error_at(CORE + 8), OP_ERROR_ruby_read_frame);
	/* a module's block: the thread has none yet */
	begin("3.1");
	process()->module = 2;
	process()->dtv_at = 8;
	process()->dtv_step = 16;
	put_u64(THREAD + 8, THREAD + 0x40);
	put_u64(THREAD + 0x40 + 32, UINT64_MAX);
	CHECK_INT(error_at(CORE + 8), OP_ERROR_ruby_no_context);
	put_u64(THREAD + 0x40 + 32, THREAD);
	u = walk_at(CORE + 8, false);
	CHECK_INT(walk(&u, CORE + 8), 1);
	/* frames that end nowhere fill the stack and no more */
	begin("3.3");
	for (i = 0; i < 60; i++)
		push(METHOD, 1);
	u = walk_at(CORE + 8, false);
	u.out.max_frames = 50;
	while (op_step_ruby(&u, true) == OP_NEXT_CONTINUE)
		;
	CHECK_INT(u.end, OP_END_TRUNCATED);
	CHECK_INT(u.out.frames, 50);
}

/* To 2.7 all threads share the pointer: it counts where it is this thread's. */
static void test_shared(void)
{
	struct op_unwind u;

	begin("2.7");
	process()->flags = OP_RUBY_SHARED;
	process()->ec_at = THREAD + 0x20;
	process()->ec_thread = layout.ec_thread;
	process()->thread_id = layout.thread_id;
	put_u64(EC + layout.ec_thread, EC + 0x100);
	put_u64(EC + 0x100 + layout.thread_id, THREAD + 0x1000);
	CHECK_INT(error_at(CORE + 8), OP_ERROR_ruby_no_context);
	put_u64(EC + 0x100 + layout.thread_id, THREAD);
	u = walk_at(CORE + 8, false);
	CHECK_INT(walk(&u, CORE + 8), 1);
}

TEST_MAIN({ "runs", test_runs }, { "fibers", test_fibers },
	  { "hostile_fibers", test_hostile_fibers },
	  { "without_core", test_without_core }, { "ended_in_core", test_ended_in_core },
	  { "in_exec", test_in_exec }, { "calling", test_calling },
	  { "hostile", test_hostile }, { "begun_in_c", test_begun_in_c },
	  { "methods", test_methods }, { "shared", test_shared })
