/* SPDX-License-Identifier: Apache-2.0 */
/* The Node.js step over functions that await each other, which are made here; hostile ones
 * too. */
#define __TARGET_ARCH_x86
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#include "code/unwind/host.h"

#include "bpf/runtime/node.h"

#include "fake_memory.h"
#include "test.h"

enum {
	/* where things are put */
	MAPS = BASE + 0x100, /* 16 bytes each, by type */
	FRAME = BASE + 0x800,
	OBJECTS = BASE + 0x1000,
	OBJECT_BYTES = 0x100,
	BUILTINS = 0x500000,
	/* types */
	ASYNC_FUNCTION = 1,
	ASYNC_GENERATOR,
	PROMISE,
	REACTION,
	CAPABILITY,
	FUNCTION,
	OTHER,
	/* the first objects; those of call I are I * EACH further */
	BUILTIN = 0, /* a function */
	BUILTIN_SHARED,
	UNDEFINED,
	GENERATOR = 8,
	CALL_PROMISE, /* of the call */
	CALL_REACTION,
	CALL_HANDLER,
	CALL_CONTEXT,
	CALL_FUNCTION,
	CALL_SHARED,
	EACH,
	OFFSET = 60, /* of a suspended function's bytecode */
	NEXT = 16,   /* in a PromiseReaction, as Node.js 22 has it */
};

static uint8_t slab[OP_SLAB_BYTES] __attribute__((aligned(8)));
static uint64_t words[OP_WORDS_MAX];
static struct op_unwind_input input = { .memory = &fake.memory };
static struct op_unwind_context context = { .input = &input, .words = words };

static uint64_t object(int i)
{
	return OBJECTS + (uint64_t)i * OBJECT_BYTES;
}

/* Object @what of call @i. */
static uint64_t of(int i, int what)
{
	return object(what + i * (EACH - GENERATOR));
}

static void put_type(uint64_t addr, int type)
{
	put_u64(addr, MAPS + (uint64_t)type * 16 + 1);
}

static void put_small(uint64_t addr, uint32_t value)
{
	put_u64(addr, (uint64_t)value << 32);
}

/* Call @i is suspended at OFFSET + i. Nobody awaits it. */
static void put_call(int i, int type)
{
	put_type(of(i, GENERATOR), type);
	put_u64(of(i, GENERATOR) + 24, of(i, CALL_FUNCTION) + 1);
	put_small(of(i, GENERATOR) + 48, (uint32_t)(OFFSET + i));
	put_u64(of(i, GENERATOR) + 80, of(i, CALL_PROMISE) + 1);
	put_type(of(i, CALL_PROMISE), PROMISE);
	put_type(of(i, CALL_FUNCTION), FUNCTION);
	put_u64(of(i, CALL_FUNCTION) + 32, of(i, CALL_SHARED) + 1);
	put_u64(of(i, CALL_SHARED) + 8, of(i, CALL_SHARED) + 1);
	put_u32(of(i, CALL_SHARED) + 52, 7);
	/* the builtin that will resume it */
	put_type(of(i, CALL_HANDLER), FUNCTION);
	put_u64(of(i, CALL_HANDLER) + 32, object(BUILTIN_SHARED) + 1);
	put_u64(of(i, CALL_HANDLER) + 40, of(i, CALL_CONTEXT) + 1);
	put_u64(of(i, CALL_CONTEXT) + 32, of(i, GENERATOR) + 1);
}

/* The reaction of call @i: @handler, then what the result resolves. */
static void put_reaction(int i, uint64_t handler, uint64_t promise)
{
	put_u64(of(i, CALL_PROMISE) + 24, of(i, CALL_REACTION) + 1);
	put_type(of(i, CALL_REACTION), REACTION);
	put_small(of(i, CALL_REACTION) + NEXT, 0);
	put_u64(of(i, CALL_REACTION) + NEXT + 16, handler + 1);
	put_u64(of(i, CALL_REACTION) + NEXT + 24, promise + 1);
}

/* Call 0 is awaited by 1, that by 2, and 2 by 3. Call 0 was resumed by a builtin. */
static struct op_unwind begin(void)
{
	struct op_node *n = (struct op_node *)(void *)(slab + 64);
	int i;

	fake_begin();
	*n = (struct op_node){
		.builtins = BUILTINS,
		.builtins_end = BUILTINS + 0x1000,
		.array_slot = 32,
		.offset_slot = 40,
		.function_shared = 32,
		.shared_id = 52,
		.shared_data = 8,
		.shared_name = 16,
		.shared_script = 32,
		.type_async_function = ASYNC_FUNCTION,
		.type_async_generator = ASYNC_GENERATOR,
		.type_promise = PROMISE,
		.type_reaction = REACTION,
		.type_capability = CAPABILITY,
		.type_function = FUNCTION,
		.reaction_next = NEXT,
	};
	context.last_slab = slab;
	for (i = 1; i <= OTHER; i++)
		put_u32(MAPS + (uint64_t)i * 16 + 12, (uint32_t)i);
	put_type(object(UNDEFINED), OTHER);
	for (i = 0; i < 4; i++)
		put_call(i, ASYNC_FUNCTION);
	for (i = 0; i < 3; i++)
		put_reaction(i, of(i + 1, CALL_HANDLER), object(UNDEFINED));
	put_u64(FRAME + 8, 0x400000); /* the builtin's caller is C++ */
	put_u64(FRAME - 8, of(0, CALL_CONTEXT) + 1);
	put_u64(FRAME - 16, of(0, CALL_HANDLER) + 1);
	return (struct op_unwind){
		.platform = (uintptr_t)&context,
		.pc = BUILTINS + 0x20,
		.sp = FRAME - 0x20,
		.fp = FRAME,
		.step = OP_RUNTIME_NODE,
		.out.max_frames = 100,
		.window_at = ~0ULL,
		.state = { .instance = 1, .ref = 64 >> OP_REF_SHIFT, .runtime = 4 },
	};
}

/* Walk. The calls in @want, up to a negative one, and then the builtin are on the stack. */
static void check(struct op_unwind *u, bool follow, const int *want)
{
	int steps = 0;
	uint32_t i;

	while (u->step == OP_RUNTIME_NODE && steps++ < 1000)
		CHECK_INT(op_step_node(u, follow), OP_NEXT_CONTINUE);
	CHECK_INT(u->state.error, 0);
	for (i = 0; want[i] >= 0; i++) {
		const uint64_t *w = words + (size_t)i * OP_NODE_FRAME_WORDS;

		CHECK(i < u->out.frames);
		CHECK_INT(w[0] & OP_FRAME_ADDRESS_MASK, of(want[i], CALL_SHARED));
		CHECK_INT(w[1] >> OP_NODE_OFFSET_SHIFT,
			  (uint64_t)OP_NODE_AWAITS
					  << (OP_NODE_KIND_SHIFT - OP_NODE_OFFSET_SHIFT) |
				  (uint64_t)(OFFSET + want[i]));
		CHECK_INT(w[2], 0);
	}
	CHECK_INT(u->out.frames, i + 1);
	CHECK_INT(words[(size_t)i * OP_NODE_FRAME_WORDS] & OP_FRAME_ADDRESS_MASK,
		  BUILTINS + 0x20);
	CHECK_INT(u->pc, 0x400000);
}

#define CHECK_CALLS(u, follow, ...) check(u, follow, (const int[]){ __VA_ARGS__, -1 })

static void test_chain(void)
{
	struct op_unwind u = begin();

	CHECK_CALLS(&u, true, 1, 2, 3);
	CHECK_INT(u.error, 0);
	u = begin();
	check(&u, false, (const int[]){ -1 });
	/* the next frame of a builtin begins anew */
	u = begin();
	CHECK_CALLS(&u, true, 1, 2, 3);
	CHECK_INT(u.state.word[OP_NODE_STATE], OP_NODE_AWAIT_NONE);
}

static void test_nobody_or_many_await(void)
{
	struct op_unwind u = begin();

	/* settled, or not awaited yet */
	put_u64(of(0, CALL_PROMISE) + 24, object(UNDEFINED) + 1);
	check(&u, true, (const int[]){ -1 });
	u = begin();
	put_small(of(1, CALL_PROMISE) + 24, 0);
	CHECK_CALLS(&u, true, 1);
	u = begin();
	put_u64(of(1, CALL_REACTION) + NEXT, of(0, CALL_REACTION) + 1);
	CHECK_CALLS(&u, true, 1);
	CHECK_INT(u.error, 0);
}

/* What may be between a promise and the function that awaits. */
static void test_other_promises(void)
{
	struct op_unwind u = begin();
	const uint64_t all = object(3);

	/* then() of a function: the promise that it returned is awaited */
	put_reaction(0, of(0, CALL_FUNCTION), of(1, CALL_PROMISE));
	CHECK_CALLS(&u, true, 2, 3);
	/* Promise.all(): a builtin whose context has a number, and then the capability */
	u = begin();
	put_small(of(1, CALL_CONTEXT) + 32, 2);
	put_u64(of(1, CALL_CONTEXT) + 40, all + 1);
	put_type(all, CAPABILITY);
	put_u64(all + 8, of(2, CALL_PROMISE) + 1);
	CHECK_CALLS(&u, true, 3);
	/* the builtin that resolves a promise with another one */
	u = begin();
	put_u64(of(1, CALL_CONTEXT) + 32, of(2, CALL_PROMISE) + 1);
	CHECK_CALLS(&u, true, 3);
	/* a function of the program that keeps a promise is no builtin */
	u = begin();
	put_reaction(0, of(1, CALL_FUNCTION), object(UNDEFINED));
	put_u64(of(1, CALL_FUNCTION) + 40, of(1, CALL_CONTEXT) + 1);
	check(&u, true, (const int[]){ -1 });
	/* an async generator has a queue, with the promise of the first request */
	u = begin();
	put_call(1, ASYNC_GENERATOR);
	put_u64(of(1, GENERATOR) + 80, all + 1);
	put_u64(all + 32, of(1, CALL_PROMISE) + 1);
	CHECK_CALLS(&u, true, 1, 2, 3);
	CHECK_INT(u.error, 0);
}

/* The collector has moved an object: its new address is in place of its map. */
static void test_moved(void)
{
	struct op_unwind u = begin();

	put_u64(of(0, CALL_REACTION), object(3));
	put_type(object(3), REACTION);
	CHECK_CALLS(&u, true, 1, 2, 3);
}

static void test_hostile(void)
{
	struct op_unwind u = begin();
	int calls[OP_NODE_AWAITS_MAX + 1];
	int i;

	/* a function that awaits itself */
	put_reaction(1, of(1, CALL_HANDLER), object(UNDEFINED));
	for (i = 0; i < OP_NODE_AWAITS_MAX; i++)
		calls[i] = 1;
	calls[i] = -1;
	check(&u, true, calls);
	CHECK_INT(u.error, OP_ERROR_node_awaits_cut);
	/* promises without end */
	u = begin();
	put_reaction(0, of(0, CALL_FUNCTION), of(0, CALL_PROMISE));
	check(&u, true, (const int[]){ -1 });
	CHECK_INT(u.error, OP_ERROR_node_awaits_cut);
	/* what cannot be read */
	u = begin();
	put_u64(of(1, CALL_PROMISE) + 24, 0x7000001);
	CHECK_CALLS(&u, true, 1);
	CHECK_INT(u.error, OP_ERROR_node_read_await);
	u = begin();
	put_u64(of(1, GENERATOR) + 24, 0x7000001);
	check(&u, true, (const int[]){ -1 });
	CHECK_INT(u.error, OP_ERROR_node_read_await);
	u = begin();
	put_u64(of(2, CALL_HANDLER) + 40, 0x7000001);
	CHECK_CALLS(&u, true, 1);
	CHECK_INT(u.error, OP_ERROR_node_read_await);
	u = begin();
	put_u64(FRAME - 8, 0x7000001);
	check(&u, true, (const int[]){ -1 });
	/* a process whose types are not known, and a copy of a stack, whose heap is newer */
	u = begin();
	((struct op_node *)(void *)(slab + 64))->type_reaction = 0;
	check(&u, true, (const int[]){ -1 });
	u = begin();
	u.heap_moved = 1;
	check(&u, true, (const int[]){ -1 });
}

TEST_MAIN({ "chain", test_chain }, { "nobody_or_many_await", test_nobody_or_many_await },
	  { "other_promises", test_other_promises }, { "moved", test_moved },
	  { "hostile", test_hostile })
