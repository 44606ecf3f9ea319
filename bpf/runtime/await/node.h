/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The async functions that await the running one. One that awaited is resumed by a builtin
 * whose context holds its generator. A generator has the promise of its call. Who awaits
 * that promise is its only reaction, whose handler is the builtin that will resume the
 * awaiting generator, and so on. Behind the frames of the resumed function the step pushes
 * the awaiting functions; then the builtin's own frame follows.
 */
#ifndef OP_AWAIT_NODE_H
#define OP_AWAIT_NODE_H

#include "bpf/runtime/node_frame.h"

enum {
	/* words of op_state(u) */
	OP_NODE_PROMISE = 0,   /* who awaits it? Points to a JSPromise, */
	OP_NODE_GENERATOR = 1, /* unless this is not 0: its function awaits */
	OP_NODE_LEFT = 2,      /* promises that may still be read */
	OP_NODE_STATE = 3,     /* enum op_node_await */
	/* offsets in bytes, the same in V8 7 to 14 */
	OP_NODE_MAP_TYPE_AT = 12,
	OP_NODE_CONTEXT_VALUE =
		32, /* Context: the first slot after the previous context */
	OP_NODE_GENERATOR_FUNCTION = 24,
	OP_NODE_PROMISE_REACTIONS = 24,
	OP_NODE_CAPABILITY_PROMISE = 8,
	OP_NODE_REQUEST_PROMISE = 32, /* AsyncGeneratorRequest */
};

enum op_node_await {
	OP_NODE_AWAIT_NONE = 0,
	OP_NODE_AWAIT_FOLLOW,
	OP_NODE_AWAIT_DONE, /* at the builtin that has resumed a function */
};

/* A JSGeneratorObject from its function on. */
struct op_node_generator {
	__u64 function;
	__u64 context;
	__u64 receiver;
	__u64 position; /* where it is suspended: a bytecode offset */
	__u64 resume_mode;
	__u64 continuation;
	__u64 registers;
	__u64 promise; /* JSAsyncGeneratorObject: its queue of requests */
};

/* A PromiseReaction from its next one on. */
struct op_node_reaction {
	__u64 next;
	__u64 reject_handler;
	__u64 fulfill_handler;
	__u64 promise; /* what the handler's result resolves, or a PromiseCapability */
};

/* Type @member of struct op_node. */
#define OP_NODE_TYPE(v, member)                                                          \
	((__u16)(op_slab_u64((v)->slab, (v)->at,                                         \
			     __builtin_offsetof(struct op_node, member) / 8) >>          \
		 (__builtin_offsetof(struct op_node, member) % 8 * 8)))

static __always_inline int op_node_read(struct op_unwind *u, __u64 object, __u32 offset,
					__u64 *ret)
{
	if ((object & 3) != 1)
		return -1;
	return op_platform_read(u, ret, sizeof(*ret), object - 1 + offset);
}

/* The type of what @object points to, or 0. While the garbage collector runs, an object
 * that it has moved has the new address in place of its map. */
static __always_inline __u16 op_node_type_of(struct op_unwind *u, __u64 object)
{
	__u64 map = 0;
	__u16 type = 0;

	if (op_node_read(u, object, 0, &map))
		return 0;
	if (!(map & 1) && op_node_read(u, map + 1, 0, &map))
		return 0;
	if ((map & 3) != 1 ||
	    op_platform_read(u, &type, sizeof(type), map - 1 + OP_NODE_MAP_TYPE_AT))
		return 0;
	return type;
}

static __always_inline bool op_node_is_async(const struct op_runtime_view *v, __u16 type)
{
	return type && (type == OP_NODE_TYPE(v, type_async_function) ||
			type == OP_NODE_TYPE(v, type_async_generator));
}

/* Continue with the builtin's frame. After an @error the stack is marked. */
static __always_inline enum op_next op_node_await_end(struct op_unwind *u, __u32 error)
{
	if (error && !u->error)
		u->error = error;
	op_state(u)->word[OP_NODE_STATE] = OP_NODE_AWAIT_DONE;
	return OP_NEXT_CONTINUE;
}

/* Find the promise of the call whose generator of @type has its last word in @promise. */
static __always_inline enum op_next op_node_await_promise(struct op_unwind *u,
							  const struct op_runtime_view *v,
							  __u16 type, __u64 promise)
{
	op_state(u)->word[OP_NODE_GENERATOR] = 0;
	if (type == OP_NODE_TYPE(v, type_async_generator) &&
	    op_node_read(u, promise, OP_NODE_REQUEST_PROMISE, &promise))
		return op_node_await_end(u, OP_ERROR_node_read_await);
	op_state(u)->word[OP_NODE_PROMISE] = promise;
	return OP_NEXT_CONTINUE;
}

/* A builtin with @context has called a function. If it has resumed a generator, those that
 * await it are followed from here on. Returns false if not. */
static __always_inline bool
op_node_await_begin(struct op_unwind *u, const struct op_runtime_view *v, __u64 context)
{
	struct op_node_generator *g = (void *)u->runtime_bytes;
	__u64 generator = 0;
	__u16 type;

	if (op_state(u)->word[OP_NODE_STATE] == OP_NODE_AWAIT_DONE) {
		op_state(u)->word[OP_NODE_STATE] = OP_NODE_AWAIT_NONE;
		return false;
	}
	if (u->heap_moved || !OP_NODE_TYPE(v, type_reaction) ||
	    op_node_read(u, context, OP_NODE_CONTEXT_VALUE, &generator))
		return false;
	type = op_node_type_of(u, generator);
	if (!op_node_is_async(v, type) ||
	    op_platform_read(u, g, sizeof(*g),
			     generator - 1 + OP_NODE_GENERATOR_FUNCTION))
		return false;
	op_state(u)->word[OP_NODE_LEFT] = OP_NODE_AWAITS_MAX;
	op_state(u)->word[OP_NODE_STATE] = OP_NODE_AWAIT_FOLLOW;
	(void)op_node_await_promise(u, v, type, g->promise);
	return true;
}

/* Push the function of the generator that awaits, and find the promise of its call. */
static __always_inline enum op_next
op_node_await_push(struct op_unwind *u, const struct op_runtime_view *v, __u64 generator)
{
	struct op_node_generator *g = (void *)u->runtime_bytes;
	__u16 type = op_node_type_of(u, generator);
	struct op_node_callee function;
	__u64 position;
	__u64 promise;

	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	if (op_platform_read(u, g, sizeof(*g),
			     generator - 1 + OP_NODE_GENERATOR_FUNCTION))
		return op_node_await_end(u, OP_ERROR_node_read_await);
	position = g->position & 1 ? 0 : g->position >> 32;
	promise = g->promise;
	op_node_find_callee(u, v, g->function, &function);
	if (!function.shared || function.builtin)
		return op_node_await_end(u, OP_ERROR_node_read_await);
	op_node_push(u, function.shared,
		     (__u64)OP_NODE_AWAITS << OP_NODE_KIND_SHIFT |
			     (position & OP_NODE_OFFSET_MAX) << OP_NODE_OFFSET_SHIFT |
			     function.check,
		     0);
	return op_node_await_promise(u, v, type, promise);
}

/* Does @handler point to a function that is a builtin? */
static __always_inline bool
op_node_is_builtin(struct op_unwind *u, const struct op_runtime_view *v, __u64 handler)
{
	__u64 shared = 0;
	__u32 data = 1;

	return op_node_type_of(u, handler) == OP_NODE_TYPE(v, type_function) &&
	       !op_node_read(u, handler, OP_NODE_BYTE(v, function_shared), &shared) &&
	       (shared & 3) == 1 &&
	       !op_platform_read(u, &data, sizeof(data),
				 shared - 1 + OP_NODE_BYTE(v, shared_data)) &&
	       !data;
}

/* @next: a promise, or a PromiseCapability. */
static __always_inline enum op_next
op_node_await_next(struct op_unwind *u, const struct op_runtime_view *v, __u64 next)
{
	if (op_node_type_of(u, next) == OP_NODE_TYPE(v, type_capability) &&
	    op_node_read(u, next, OP_NODE_CAPABILITY_PROMISE, &next))
		return op_node_await_end(u, OP_ERROR_node_read_await);
	if (op_node_type_of(u, next) != OP_NODE_TYPE(v, type_promise))
		return op_node_await_end(u, 0);
	op_state(u)->word[OP_NODE_PROMISE] = next;
	return OP_NEXT_CONTINUE;
}

/*
 * The promise's only reaction calls the builtin @handler. In its context is the generator
 * that it resumes; or the promise that it resolves; or, of Promise.all() and the like, a
 * number and then the PromiseCapability. Otherwise follow @promise, the reaction's own.
 */
static __always_inline enum op_next op_node_await_builtin(struct op_unwind *u,
							  const struct op_runtime_view *v,
							  __u64 handler, __u64 promise)
{
	__u64 context = 0;
	__u64 value = 0;
	__u16 type;

	if (op_node_read(u, handler, OP_NODE_BYTE(v, function_shared) + 8, &context) ||
	    op_node_read(u, context, OP_NODE_CONTEXT_VALUE, &value))
		return op_node_await_end(u, OP_ERROR_node_read_await);
	type = op_node_type_of(u, value);
	if (op_node_is_async(v, type)) {
		op_state(u)->word[OP_NODE_GENERATOR] = value;
		return OP_NEXT_CONTINUE;
	}
	if (type && type == OP_NODE_TYPE(v, type_promise))
		promise = value;
	else if (!(value & 1))
		(void)op_node_read(u, context, OP_NODE_CONTEXT_VALUE + 8, &promise);
	return op_node_await_next(u, v, promise);
}

/* One step on the way through the promises. One without a reaction is not awaited. If
 * there are several, none of them is the caller. */
static __always_inline enum op_next op_node_await(struct op_unwind *u,
						  const struct op_runtime_view *v)
{
	struct op_node_reaction *r = (void *)u->runtime_bytes;
	__u64 generator = op_state(u)->word[OP_NODE_GENERATOR];
	__u64 reaction = 0;
	__u16 type;

	if (generator)
		return op_node_await_push(u, v, generator);
	if (!op_state(u)->word[OP_NODE_LEFT]--)
		return op_node_await_end(u, OP_ERROR_node_awaits_cut);
	if (op_node_read(u, op_state(u)->word[OP_NODE_PROMISE], OP_NODE_PROMISE_REACTIONS,
			 &reaction))
		return op_node_await_end(u, OP_ERROR_node_read_await);
	if (!(reaction & 1))
		return op_node_await_end(u, 0);
	type = op_node_type_of(u, reaction);
	if (type != OP_NODE_TYPE(v, type_reaction))
		return op_node_await_end(u, type ? 0 : OP_ERROR_node_read_await);
	if (op_platform_read(u, r, sizeof(*r),
			     reaction - 1 + OP_NODE_BYTE(v, reaction_next)))
		return op_node_await_end(u, OP_ERROR_node_read_await);
	if (r->next & 1)
		return op_node_await_end(u, 0);
	if (op_node_is_builtin(u, v, r->fulfill_handler))
		return op_node_await_builtin(u, v, r->fulfill_handler, r->promise);
	return op_node_await_next(u, v, r->promise);
}

#endif
