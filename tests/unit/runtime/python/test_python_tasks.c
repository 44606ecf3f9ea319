/* SPDX-License-Identifier: Apache-2.0 */
/* The CPython step over frames, over tasks that await each other, and to the root of a greenlet,
 * which are made here. Some are hostile. */
#define __TARGET_ARCH_x86
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#include "code/unwind/host.h"

#include "bpf/runtime/python.h"

#include "fake_memory.h"
#include "runtime/python/layout.h"
#include "test.h"

enum {
	/* where things are put */
	THREAD = BASE + 0x100, /* what the thread pointer points to */
	STATE = BASE + 0x200,
	STATE_TASK = 0x100, /* in PyThreadState */
	FRAMES = BASE + 0x1000,
	COROUTINES = BASE + 0x4000,
	TASKS = BASE + 0xa000,
	OBJECT_BYTES = 0x100,
	/* addresses of types */
	COROUTINE = 0x501000,
	GENERATOR = 0x502000,
	ASYNCGEN = 0x503000,
	ASEND = 0x504000,
	FUTURE = 0x505000,
	/* members, as 3.14 has them */
	FRAME_FUNCTION = 16,
	AWAITER = 96,
	IS_TASK = 108,
	IN_SET = 109,
	TASK_COROUTINE = 128,
	STACK = 0xf0,	      /* of a coroutine: where the end of its stack is */
	CODE = BASE + 0xe000, /* of frame N: CODE + N * 16 */
	HIDDEN = 3,
	/* gi_frame_state */
	AWAITS = 0xff,
	YIELDED = 0xfe,
	EXECUTES = 0,
};

static uint8_t slab[OP_SLAB_BYTES] __attribute__((aligned(8)));
static uint64_t words[OP_WORDS_MAX];
static struct op_unwind_input input = { .memory = &fake.memory };
static struct op_unwind_context context = { .input = &input, .words = words };

static uint64_t coroutine(int i)
{
	return COROUTINES + (uint64_t)i * OBJECT_BYTES;
}

static uint64_t task(int i)
{
	return TASKS + (uint64_t)i * OBJECT_BYTES;
}

static void put_byte(uint64_t addr, uint8_t v)
{
	put(addr, &v, 1);
}

/* A frame with code number @code, whose caller's frame is at @previous. */
static void put_frame(uint64_t addr, int code, uint64_t previous, uint8_t owner)
{
	put_u64(addr, CODE + (uint64_t)code * 16);
	put_u64(addr + 8, previous);
	put_u64(addr + FRAME_FUNCTION, 0x700001);
	put_byte(addr + 74, owner);
}

/* Coroutine @i, which awaits @awaited or is in @state. */
static void put_coroutine(int i, uint64_t awaited, uint8_t state)
{
	put_u64(coroutine(i) + 8, COROUTINE);
	put_byte(coroutine(i) + 67, state);
	put_frame(coroutine(i) + 72, i, 0, OP_PY_OWNED_BY_GENERATOR);
	put_u64(coroutine(i) + 72 + 64, coroutine(i) + STACK);
	put_u64(coroutine(i) + STACK - 8, awaited | 1);
}

/* Task @i of coroutine @of (negative: it is a future), awaited by what is at @awaiter. */
static void put_task(int i, int of, uint64_t awaiter)
{
	put_u64(task(i) + 8, FUTURE);
	put_u64(task(i) + AWAITER, awaiter);
	put_byte(task(i) + IS_TASK, of >= 0);
	if (of >= 0)
		put_u64(task(i) + TASK_COROUTINE, coroutine(of));
}

/*
 * A thread in function 90, called by coroutine 0, which coroutine 1 of task 0 awaits; below
 * them function 91 of the event loop.
 */
static struct op_unwind begin(void)
{
	struct op_python *p = (struct op_python *)(void *)(slab + 64);
	struct op_python_layout layout;

	fake_begin();
	memset(slab, 0, sizeof(slab));
	CHECK_OK(op_layouts_find_number(NULL, &op_runtime_python_layouts, 0x030e,
					&layout));
	op_runtime_python_layout_step(&layout, p);
	p->tasks.state_task = STATE_TASK;
	p->tasks.task_coroutine = TASK_COROUTINE;
	p->tasks.task_awaiter = AWAITER;
	p->tasks.task_is_task = IS_TASK;
	p->tasks.task_in_set = IN_SET;
	p->tasks.coroutine_type = COROUTINE;
	p->tasks.generator_type = GENERATOR;
	p->tasks.asyncgen_type = ASYNCGEN;
	p->tasks.asend_type = ASEND;
	context.last_slab = slab;

	put_u64(THREAD, STATE);
	put_u64(STATE + p->state_frame, FRAMES);
	put_u64(STATE + STATE_TASK, task(0));
	put_frame(FRAMES, 90, coroutine(0) + 72, 0);
	put_coroutine(0, 0, EXECUTES);
	put_coroutine(1, 0, EXECUTES);
	put_u64(coroutine(0) + 72 + 8, coroutine(1) + 72);
	put_u64(coroutine(1) + 72 + 8, FRAMES + 0x100);
	put_frame(FRAMES + 0x100, 91, FRAMES + 0x200, 0);
	put_frame(FRAMES + 0x200, 0, 0, HIDDEN);
	put_task(0, 1, 0);
	return (struct op_unwind){
		.platform = (uintptr_t)&context,
		.step = OP_RUNTIME_PYTHON,
		.out.max_frames = 100,
		.window_at = ~0ULL,
		.process.thread_pointer = THREAD,
		.sp = FRAMES + 0x200,
		.loop_cfa = FRAMES + 0x300,
		.state = { .instance = 1, .ref = 64 >> OP_REF_SHIFT, .runtime = 1 },
	};
}

/* Walk, and compare with the numbers of the codes in @want, up to a negative one. */
static void check(struct op_unwind *u, bool follow, const int *want)
{
	int steps = 0;
	uint32_t i;

	while (u->step == OP_RUNTIME_PYTHON && steps++ < 1000)
		CHECK_INT(op_step_python(u, follow), OP_NEXT_CONTINUE);
	CHECK_INT(u->state.error, 0);
	for (i = 0; want[i] >= 0; i++) {
		CHECK(i < u->out.frames);
		CHECK_INT((words[i * 2] & OP_FRAME_ADDRESS_MASK) - CODE, want[i] * 16);
	}
	CHECK_INT(u->out.frames, i);
	CHECK_INT(u->out.words, i * 2);
}

#define CHECK_CODES(u, follow, ...) check(u, follow, (const int[]){ __VA_ARGS__, -1 })

/* Task 1 has coroutines 2, 3 and 4 and awaits the running one; a future that gathers awaits
 * task 1, and task 3 with coroutine 5 awaits that. */
static struct op_unwind begin_chain(void)
{
	struct op_unwind u = begin();

	put_task(0, 1, task(1));
	put_task(1, 2, task(2));
	put_task(2, -1, task(3));
	put_task(3, 5, 0);
	put_coroutine(2, coroutine(3), AWAITS);
	put_coroutine(3, coroutine(4), AWAITS);
	put_coroutine(4, task(0), AWAITS);
	put_coroutine(5, task(2), AWAITS);
	return u;
}

static void test_chain(void)
{
	struct op_unwind u = begin_chain();

	CHECK_CODES(&u, true, 90, 0, 1, 4, 3, 2, 5, 91);
	CHECK_INT(u.error, 0);
	u = begin_chain();
	CHECK_CODES(&u, false, 90, 0, 1, 91);
}

static void test_nobody_or_many_await(void)
{
	struct op_unwind u = begin();

	CHECK_CODES(&u, true, 90, 0, 1, 91);
	u = begin_chain();
	put_byte(task(0) + IN_SET, 1);
	CHECK_CODES(&u, true, 90, 0, 1, 91);
	u = begin_chain();
	put_byte(task(1) + IN_SET, 1);
	CHECK_CODES(&u, true, 90, 0, 1, 4, 3, 2, 91);
	CHECK_INT(u.error, 0);
}

/* What a coroutine may await beside another one. One that runs is left out: its frames are the
 * thread's own. */
static void test_other_objects(void)
{
	struct op_unwind u = begin_chain();

	put_u64(coroutine(3) + 8, GENERATOR);
	put_byte(coroutine(4) + 67, YIELDED);
	CHECK_CODES(&u, true, 90, 0, 1, 4, 3, 2, 5, 91);
	u = begin_chain();
	put_byte(coroutine(3) + 67, EXECUTES);
	CHECK_CODES(&u, true, 90, 0, 1, 2, 5, 91);
	/* coroutine 2 awaits what the __anext__() of generator 3 returned */
	u = begin_chain();
	put_u64(coroutine(3) + 8, ASYNCGEN);
	put_u64(coroutine(2) + STACK - 8, coroutine(6));
	put_u64(coroutine(6) + 8, ASEND);
	put_u64(coroutine(6) + OP_PY_ASEND_GENERATOR, coroutine(3));
	CHECK_CODES(&u, true, 90, 0, 1, 4, 3, 2, 5, 91);
	/* no coroutine, but a class with __await__() of C */
	u = begin_chain();
	put_u64(coroutine(2) + 8, FUTURE);
	CHECK_CODES(&u, true, 90, 0, 1, 5, 91);
}

/* The frames of a run that is another activation's are taken back, and come with that one. */
static void test_other_activation(void)
{
	struct op_unwind u = begin_chain();

	u.exact = 1;
	u.sp = FRAMES + 0x10;
	u.loop_cfa = FRAMES + 0x80;
	check(&u, true, (const int[]){ -1 });
	u.exact = 0;
	u.sp = FRAMES + 0x200;
	u.loop_cfa = FRAMES + 0x300;
	u.step = OP_RUNTIME_PYTHON;
	CHECK_CODES(&u, true, 90, 0, 1, 4, 3, 2, 5, 91);
}

/* The step at an address in the module of greenlet. */
static enum op_next in_greenlet(struct op_unwind *u)
{
	u->map.flags = OP_MAPPING_CODE;
	u->map.segment = 1;
	u->step = OP_RUNTIME_PYTHON;
	return op_step_python(u, false);
}

/* In the native walk, which is on its way from that address. */
static void leave_greenlet(struct op_unwind *u)
{
	CHECK_INT(u->step, OP_STEP_NATIVE);
	CHECK_INT(u->runtime_done, 1);
	u->map.flags = 0;
	u->step = OP_RUNTIME_PYTHON;
}

/* A stack ends where greenlet's module called the function at which the chain ends. */
static void test_greenlet(void)
{
	struct op_unwind u = begin();

	CHECK_CODES(&u, false, 90, 0, 1, 91);
	u.end = OP_END_TRUNCATED;
	CHECK_INT(in_greenlet(&u), OP_NEXT_END);
	CHECK_INT(u.end, OP_END_COMPLETE);
	CHECK_INT(u.out.frames, 4);
	/* the frames of another runtime are missing */
	u = begin();
	u.error = OP_ERROR_runtime_not_attached;
	CHECK_CODES(&u, false, 90, 0, 1, 91);
	CHECK_INT(in_greenlet(&u), OP_NEXT_END);
	CHECK_INT(u.end, OP_ERROR_runtime_not_attached);
}

/* As begin(), called from C that function 92 called. */
static struct op_unwind begin_called(void)
{
	struct op_unwind u = begin();

	put_frame(FRAMES + 0x200, 0, FRAMES + 0x310, HIDDEN);
	put_frame(FRAMES + 0x310, 92, FRAMES + 0x390, 0);
	put_frame(FRAMES + 0x390, 0, 0, HIDDEN);
	return u;
}

/* A trace function, or one that ends an object, has callers behind the module. */
static void test_greenlet_called(void)
{
	struct op_unwind u = begin_called();

	CHECK_CODES(&u, false, 90, 0, 1, 91);
	CHECK_INT(in_greenlet(&u), OP_NEXT_CONTINUE);
	leave_greenlet(&u);
	u.sp = FRAMES + 0x300;
	u.loop_cfa = FRAMES + 0x400;
	CHECK_CODES(&u, false, 90, 0, 1, 91, 92);
	/* the chain is another one */
	u = begin_called();
	CHECK_CODES(&u, false, 90, 0, 1, 91);
	u.sp = FRAMES + 0x500;
	u.loop_cfa = FRAMES + 0x600;
	u.step = OP_RUNTIME_PYTHON;
	while (u.step == OP_RUNTIME_PYTHON)
		CHECK_INT(op_step_python(&u, false), OP_NEXT_CONTINUE);
	CHECK_INT(u.state.error, OP_ERROR_python_other_chain);
	CHECK_INT(in_greenlet(&u), OP_NEXT_CONTINUE);
}

/* While greenlet's module switches, the chain may be another greenlet's. */
static void test_greenlet_switches(void)
{
	struct op_unwind u = begin();

	CHECK_INT(in_greenlet(&u), OP_NEXT_CONTINUE);
	leave_greenlet(&u);
	CHECK_CODES(&u, false, 90, 0, 1, 91);
	CHECK_INT(in_greenlet(&u), OP_NEXT_CONTINUE);
}

/* Walk three frames @apart bytes apart, of which the outermost, hidden one is at @lowest.
 * Returns the reads. */
static int reads_of_run(uint64_t lowest, uint64_t apart)
{
	const struct op_python *p = (const struct op_python *)(const void *)(slab + 64);
	struct op_unwind u = begin();

	put_frame(lowest, 0, 0, HIDDEN);
	put_frame(lowest + apart, 91, lowest, 0);
	put_frame(lowest + 2 * apart, 90, lowest + apart, 0);
	put_u64(STATE + p->state_frame, lowest + 2 * apart);
	u.sp = lowest;
	u.loop_cfa = lowest + apart;
	CHECK_CODES(&u, false, 90, 91);
	return fake.reads;
}

/* Frames that lie together are read together, and no other page is. */
static void test_contiguous(void)
{
	int apart = reads_of_run(FRAMES, 0x400);
	uint64_t at;

	CHECK_INT(reads_of_run(BASE, 80), apart - 2);
	CHECK_INT(reads_of_run(BASE + BYTES - 3 * 80, 80), apart - 2);
	for (at = FRAMES; at < FRAMES + 0x1000; at += 8)
		CHECK(reads_of_run(at, 80) <= apart);
}

static void test_hostile(void)
{
	struct op_unwind u = begin_chain();

	/* a task that awaits itself */
	put_u64(task(3) + AWAITER, task(3));
	put_u64(task(3) + TASK_COROUTINE, 0);
	CHECK_CODES(&u, true, 90, 0, 1, 4, 3, 2, 91);
	CHECK_INT(u.error, OP_ERROR_python_awaits_cut);
	/* a coroutine that awaits itself */
	u = begin_chain();
	put_u64(coroutine(5) + STACK - 8, coroutine(5));
	CHECK_CODES(&u, true, 90, 0, 1, 4, 3, 2, 91);
	CHECK_INT(u.error, OP_ERROR_python_awaits_cut);
	/* what cannot be read */
	u = begin_chain();
	put_u64(task(3) + TASK_COROUTINE, 0x7000000);
	CHECK_CODES(&u, true, 90, 0, 1, 4, 3, 2, 91);
	CHECK_INT(u.error, OP_ERROR_python_read_frame);
	u = begin_chain();
	put_u64(coroutine(3) + 72 + 64, 0x7000000);
	CHECK_CODES(&u, true, 90, 0, 1, 91);
	CHECK_INT(u.error, OP_ERROR_python_read_frame);
	u = begin_chain();
	put_u64(STATE + STATE_TASK, 0x7000000);
	CHECK_CODES(&u, true, 90, 0, 1, 91);
	/* a stack that is full but for the event loop's frames */
	u = begin_chain();
	u.out.max_frames = 5;
	CHECK_CODES(&u, true, 90, 0, 1, 91);
	CHECK_INT(u.error, OP_ERROR_python_awaits_cut);
}

TEST_MAIN({ "chain", test_chain }, { "nobody_or_many_await", test_nobody_or_many_await },
	  { "other_objects", test_other_objects },
	  { "other_activation", test_other_activation }, { "greenlet", test_greenlet },
	  { "greenlet_called", test_greenlet_called },
	  { "greenlet_switches", test_greenlet_switches },
	  { "contiguous", test_contiguous }, { "hostile", test_hostile })
