/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The PHP step. All frames of a process form one chain, innermost first. A C activation
 * of the interpreter loop runs one section of the chain, a "run": from the frame that it
 * was entered with up to the next frame that C code called. Each step pushes one frame of
 * the run. At its end the walk goes on with the loop's own native frame, and the next
 * activation continues the chain where this one ended. So native and PHP frames appear in
 * their true order.
 *
 * Internal functions have no activation of their own. Their frames belong to the run of
 * the activation that called them. C code may have called them as well, so the mark
 * "called by C code" ends a run only on a frame of PHP code. Frames without a function
 * are placeholders for calls from within an instruction and are left out, or stand for the
 * generators that wait for the one that runs (yield from).
 *
 * A fiber has a C stack of its own. When the walk reaches the fiber's first function, it
 * goes on in the stack that resumed the fiber.
 */
#ifndef OP_PHP_STEP_H
#define OP_PHP_STEP_H

#include "bpf/runtime/php_frame.h"

/* The top of a suspended C stack (jump_fcontext of boost.context). */
enum {
#if defined(__TARGET_ARCH_arm64)
	OP_PHP_SWITCH_FP = 0x90,
	OP_PHP_SWITCH_PC = 0xa0,
	OP_PHP_SWITCH_BYTES = 0xb0,
#else
	OP_PHP_SWITCH_FP = 0x38,
	OP_PHP_SWITCH_PC = 0x40,
	OP_PHP_SWITCH_BYTES = 0x48,
#endif
	OP_PHP_CONTEXT_KIND = 8, /* in zend_fiber_context, after its handle */
};

/*
 * In zend_generator, whose members differ up to PHP 8.0. Its placeholder is a member
 * too, and its place identifies the version.
 */
enum {
	OP_PHP_PLACEHOLDER = 184,
	OP_PHP_NODE = 152, /* parent, number of children, the only child */
	OP_PHP_PLACEHOLDER_OLD = 200,
	OP_PHP_NODE_OLD = 160, /* parent, number of children, a leaf, the only child */
	OP_PHP_NODE_TO_FRAME = 96, /* back from its node to the pointer to its frame */
	OP_PHP_OLD_NODE = 1,	   /* a bit of OP_PHP_LEAF */
	OP_PHP_GENERATOR_MAX = 256,
	/* in zend_execute_data: a generator's frame has the generator there */
	OP_PHP_FRAME_RETURN = 16,
	OP_PHP_IS_OBJECT = 8, /* type of a frame's This */
};

static __always_inline bool op_php_in_jit(struct op_unwind *u)
{
	return (u->map.flags & OP_MAPPING_CODE) != 0;
}

/* The pc of the loop's native frame. JIT code has no frame of its own: it uses the
 * loop's. */
static __always_inline __u64 op_php_loop_pc(struct op_unwind *u)
{
	return op_php_in_jit(u) ? op_php_word(u, __builtin_offsetof(struct op_php, body))
				: u->pc;
}

/* Leave the step and continue with the loop's native frame. After an @error no PHP
 * frame follows. */
static __always_inline enum op_next op_php_leave(struct op_unwind *u, __u32 error)
{
	if (error) {
		op_state(u)->error = error;
		op_state(u)->word[OP_PHP_NEXT] = 0;
	}
	op_state(u)->word[OP_PHP_RUN] = OP_PHP_RUN_NONE;
	if (op_php_in_jit(u)) {
		u->pc = op_php_loop_pc(u);
		u->exact = 0;
		if (!u->pc)
			return op_end(u, OP_ERROR_php_no_body);
	}
	return op_leave_runtime(u, 1);
}

/* The first activation of a walk: find the innermost frame. Returns 0 or an
 * error number. */
static __always_inline __u32 op_php_begin(struct op_unwind *u)
{
	__u64 current = op_php_word(u, __builtin_offsetof(struct op_php, current));
	__u64 fiber = op_php_word(u, __builtin_offsetof(struct op_php, fiber));
	__u64 word = op_php_word(u, __builtin_offsetof(struct op_php, flags));
	__u64 at = op_php_word(u, __builtin_offsetof(struct op_php, body_cfa));
	__u64 globals = 0;

	if (u->heap_moved && !op_platform_has_chain(u))
		return OP_ERROR_php_late;
	if ((OP_PHP_BYTE(word, flags) & OP_PHP_THREADS) &&
	    (!u->process.thread_pointer ||
	     op_platform_read_chain(u, &globals, 8,
				    u->process.thread_pointer + ((__s64)at >> 48)) ||
	     !globals))
		return OP_ERROR_php_read_state;
	if (op_platform_read_chain(u, &op_state(u)->word[OP_PHP_NEXT], 8,
				   globals + current))
		return OP_ERROR_php_read_state;
	if (fiber && op_platform_read_chain(u, &op_state(u)->word[OP_PHP_FIBER], 8,
					    globals + fiber))
		return OP_ERROR_php_read_state;
	op_state(u)->word[OP_PHP_BEGUN] = word | 1ULL << OP_PHP_BEGUN_BIT;
	return 0;
}

static __always_inline __u64 op_php_register(struct op_unwind *u, __u32 number)
{
	op_platform_bound(number);
	return u->reg[number & (OP_LEAF_REGS - 1)];
}

/* Did frame @next call frame @frame? Reads @frame into runtime_bytes. */
static __always_inline bool op_php_called(struct op_unwind *u, __u64 word, __u64 frame,
					  __u64 next)
{
	return !op_php_read(u, frame, word) &&
	       op_php_field(u, OP_PHP_BYTE(word, frame_previous)) == next;
}

/*
 * Is the interrupted activation about to return, with its frames already out of the
 * chain? While it has frames, its frame register holds the innermost frame @next, or the
 * caller or callee of @next: the chain and the register do not change at the same moment.
 */
static __always_inline bool op_php_returns(struct op_unwind *u, __u64 word, __u64 next)
{
	__u64 frame = op_php_register(u, OP_PHP_BYTE(word, frame_register));

	if (!u->exact || !(OP_PHP_BYTE(word, flags) & OP_PHP_REGISTERS) || frame == next)
		return false;
	if (op_php_called(u, word, frame, next))
		return (op_php_call(u, word) & OP_PHP_CALL_TOP) != 0;
	if (op_php_called(u, word, next, frame))
		return false;
	/* The activation's first instructions still hold the frame in the argument
	 * register. */
	return op_php_register(u, OP_PHP_BYTE(word, argument_register)) != next;
}

/*
 * The current instruction of @frame, which is in runtime_bytes. The frame's own member is
 * as old as the last store to it; where the loop was interrupted, its register is newer.
 */
static __always_inline __u64 op_php_opline(struct op_unwind *u, __u64 word, __u64 frame)
{
	if (u->exact && (OP_PHP_BYTE(word, flags) & OP_PHP_REGISTERS) != 0 &&
	    op_php_register(u, OP_PHP_BYTE(word, frame_register)) == frame)
		return op_php_register(u, OP_PHP_BYTE(word, opline_register));
	return op_php_field(u, OP_PHP_BYTE(word, frame_opline));
}

/*
 * The C function that began this activation: a number of enum OP_PHP_BEGINS_*, or
 * OP_PHP_BEGINNERS if it is another one. Found by the return address at the end of the
 * activation's stack frame.
 */
static __always_inline __u32 op_php_beginner(struct op_unwind *u)
{
	__u64 ra = 0;
	__u32 i;

	if (op_read_stack(u, u->loop_cfa - 8, &ra))
		return OP_PHP_BEGINNERS;
	for (i = 0; i < OP_PHP_BEGINNERS; i++) {
		__u32 off = __builtin_offsetof(struct op_php, beginner) + i * 16;

		if (ra > op_php_word(u, off) && ra <= op_php_word(u, off + 8))
			break;
	}
	return i;
}

/*
 * A run that began with a fiber's first function has ended: push the loop's native
 * frame and go to the stack that resumed the fiber. The native frames that start a
 * fiber are skipped.
 */
static __always_inline enum op_next op_php_resumer(struct op_unwind *u, __u64 fiber)
{
	__u64 word = op_php_word(u, __builtin_offsetof(struct op_php, fiber_context));
	__u64 own = fiber + (__u16)word;
	__u64 caller = 0;
	__u64 bottom = op_state(u)->word[OP_PHP_NEXT];
	__u64 kind = 0;
	__u64 context[2] = { 0, 0 };
	__u64 saved[2];

	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	if (op_platform_read(u, &caller, 8, fiber + (__u16)(word >> 16)) ||
	    op_platform_read(u, &kind, 8, own + OP_PHP_CONTEXT_KIND) ||
	    op_platform_read(u, context, sizeof(context), caller) ||
	    op_platform_read(u, &saved[0], 8, context[0] + OP_PHP_SWITCH_FP) ||
	    op_platform_read(u, &saved[1], 8, context[0] + OP_PHP_SWITCH_PC) ||
	    op_php_read(u, bottom, op_state(u)->word[OP_PHP_BEGUN]))
		return op_php_leave(u, OP_ERROR_php_read_fiber);
	op_push_word(u,
		     op_frame_word(u->exact && !op_php_in_jit(u) ? OP_FRAME_NATIVE_EXACT
								 : OP_FRAME_NATIVE,
				   op_php_loop_pc(u)));
	u->out.frames++;
	op_state(u)->word[OP_PHP_NEXT] = op_php_field(
		u, OP_PHP_BYTE(op_state(u)->word[OP_PHP_BEGUN], frame_previous));
	op_state(u)->word[OP_PHP_FIBER] = context[1] == kind ? caller - (__u16)word : 0;
	u->fp = saved[0];
	u->pc = saved[1];
	u->sp = context[0] + OP_PHP_SWITCH_BYTES;
	u->exact = 0;
	op_state(u)->word[OP_PHP_RUN] = OP_PHP_RUN_NONE;
	return op_leave_runtime(u, 0);
}

/* A run of this activation has ended. */
static __always_inline enum op_next op_php_end_run(struct op_unwind *u)
{
	__u64 fiber = op_state(u)->word[OP_PHP_FIBER];
	__u64 word = op_php_word(u, __builtin_offsetof(struct op_php, fiber_context));
	__u64 bottom = 0;

	if (fiber && !op_platform_read(u, &bottom, 8, fiber + (__u16)(word >> 32)) &&
	    bottom && bottom == op_state(u)->word[OP_PHP_NEXT])
		return op_php_resumer(u, fiber);
	return op_php_leave(u, 0);
}

/*
 * The frame just pushed was called by C code: does the run end here? The C function
 * that began the activation decides whether the run can belong to it, because the chain
 * and the activations do not change at the same moment.
 */
static __always_inline enum op_next op_php_top(struct op_unwind *u, __u64 call)
{
	__u32 beginner = op_php_beginner(u);
	__u64 pushed = op_state(u)->word[OP_PHP_PUSHED];
	bool is_code = (call & OP_PHP_CALL_CODE) != 0;

	/* C code is about to call this function, or the function has just returned, so it
	 * has no activation. Its frame precedes the frames of this activation. */
	if (beginner == OP_PHP_BEGINS_CODE && !is_code) {
		op_state(u)->word[OP_PHP_RUN] = OP_PHP_RUN_INTERNAL;
		return OP_NEXT_CONTINUE;
	}
	/* This activation has no frames left: leave these to their own activation. */
	if (is_code &&
	    (beginner == OP_PHP_BEGINS_FUNCTION || beginner == OP_PHP_BEGINS_GENERATOR)) {
		op_state(u)->word[OP_PHP_NEXT] = op_state(u)->word[OP_PHP_FIRST];
		op_state(u)->word[OP_PHP_RETURN] = 0;
		u->out.words = (__u32)(pushed >> 32);
		u->out.frames = (__u32)pushed;
		return op_php_leave(u, 0);
	}
	return op_php_end_run(u);
}

/* Go to the frame of the generator that waits for generator OP_PHP_GENERATOR: its only child,
 * which knows it as its parent. Returns 0 or -1. */
static __always_inline int op_php_waiting(struct op_unwind *u)
{
	bool old = op_state(u)->word[OP_PHP_LEAF] & OP_PHP_OLD_NODE;
	__u64 of = op_state(u)->word[OP_PHP_GENERATOR];
	__u32 at = old ? OP_PHP_NODE_OLD : OP_PHP_NODE;
	__u64 node[4];
	__u64 parent = 0;
	__u64 child;

	if (op_platform_read_chain(u, node, sizeof(node), of + at) || (__u32)node[1] != 1)
		return -1;
	child = old ? node[3] : node[2];
	if (op_platform_read_chain(u, &parent, 8, child + at) || parent != of ||
	    op_platform_read_chain(u, &op_state(u)->word[OP_PHP_NEXT], 8,
				   child + at - OP_PHP_NODE_TO_FRAME))
		return -1;
	op_state(u)->word[OP_PHP_GENERATOR] = child;
	return 0;
}

/* A frame without a function, in runtime_bytes. If generators wait for the one whose
 * frame was pushed last, it is part of the outermost of them. */
static __always_inline enum op_next op_php_placeholder(struct op_unwind *u, __u64 word,
						       __u64 frame)
{
	__u32 info = OP_PHP_BYTE(word, frame_info);
	__u64 generator = op_php_field(u, info - 8);
	__u64 at = frame - generator;

	if ((__u8)op_php_field(u, info) != OP_PHP_IS_OBJECT || at >= OP_PHP_GENERATOR_MAX)
		return OP_NEXT_CONTINUE;
	op_state(u)->word[OP_PHP_GENERATOR] = op_state(u)->word[OP_PHP_RETURN];
	op_state(u)->word[OP_PHP_CALLER] = op_state(u)->word[OP_PHP_NEXT];
	op_state(u)->word[OP_PHP_LEAF] =
		generator | (at == OP_PHP_PLACEHOLDER_OLD ? OP_PHP_OLD_NODE : 0);
	if ((at != OP_PHP_PLACEHOLDER && at != OP_PHP_PLACEHOLDER_OLD) ||
	    op_php_waiting(u))
		return op_php_leave(u, OP_ERROR_php_generator);
	return OP_NEXT_CONTINUE;
}

/* The frame of a generator that waits is pushed: go to the next one, or to the caller. */
static __always_inline enum op_next op_php_waited(struct op_unwind *u)
{
	__u64 leaf = op_state(u)->word[OP_PHP_LEAF] & ~(__u64)OP_PHP_OLD_NODE;

	if (op_state(u)->word[OP_PHP_GENERATOR] == leaf) {
		op_state(u)->word[OP_PHP_LEAF] = 0;
		op_state(u)->word[OP_PHP_NEXT] = op_state(u)->word[OP_PHP_CALLER];
	} else if (op_php_waiting(u)) {
		return op_php_leave(u, OP_ERROR_php_generator);
	}
	op_state(u)->word[OP_PHP_RUN] = OP_PHP_RUN_INTERNAL;
	return OP_NEXT_CONTINUE;
}

/*
 * Is the frame in runtime_bytes one that OPcache's compiler made, to look up a constant or
 * to call a function in advance (zend_persist.c, sccp.c)? It has no caller, and C code did
 * not call it. The chain that it hides is in a variable of the compiler's.
 */
static __always_inline bool op_php_compiling(struct op_unwind *u, __u64 word)
{
	return !op_php_field(u, OP_PHP_BYTE(word, frame_previous)) &&
	       !(op_php_call(u, word) & OP_PHP_CALL_TOP);
}

/* Push the next frame of the chain. */
static __always_inline enum op_next op_php_frame(struct op_unwind *u, __u64 word)
{
	__u64 offsets = op_php_word(u, __builtin_offsetof(struct op_php, fiber_context));
	__u64 frame = op_state(u)->word[OP_PHP_NEXT];
	__u64 function;
	__u64 call;

	if (op_php_read(u, frame, word))
		return op_php_leave(u, OP_ERROR_php_read_frame);
	function = op_php_field(u, OP_PHP_BYTE(word, frame_function));
	if (op_state(u)->word[OP_PHP_LEAF] &&
	    op_php_field(u, OP_PHP_FRAME_RETURN) != op_state(u)->word[OP_PHP_GENERATOR])
		return op_php_leave(u, OP_ERROR_php_generator);
	if (function && !op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	op_state(u)->word[OP_PHP_NEXT] =
		op_php_field(u, OP_PHP_BYTE(word, frame_previous));
	if (!function)
		return op_php_placeholder(u, word, frame);
	if (op_php_compiling(u, word))
		return op_php_leave(u, OP_ERROR_php_compiling);
	if (op_php_read_function(u, function, (__u8)(offsets >> 48)))
		return op_php_leave(u, OP_ERROR_php_read_frame);
	if (op_php_push(u, word, function,
			op_php_internal(u) ? 0 : op_php_opline(u, word, frame)))
		return op_php_leave(u, OP_ERROR_php_late);
	op_state(u)->word[OP_PHP_RETURN] = op_php_field(u, OP_PHP_FRAME_RETURN);
	/* Evaluate these again: otherwise the verifier would follow the rest once for
	 * each known answer. */
	if (op_state(u)->word[OP_PHP_LEAF])
		return op_php_waited(u);
	if (op_php_internal(u)) {
		op_state(u)->word[OP_PHP_RUN] = OP_PHP_RUN_INTERNAL;
		return OP_NEXT_CONTINUE;
	}
	op_state(u)->word[OP_PHP_RUN] = OP_PHP_RUN_CODE;
	call = op_php_call(u, word);
	return call & OP_PHP_CALL_TOP ? op_php_top(u, call) : OP_NEXT_CONTINUE;
}

/* An activation is entered. Returns false if it has no frames. */
static __always_inline bool op_php_enter(struct op_unwind *u, __u64 word)
{
	__u64 next = op_state(u)->word[OP_PHP_NEXT];
	__u64 cfa;

	if (op_php_in_jit(u)) {
		cfa = op_php_word(u, __builtin_offsetof(struct op_php, body_cfa));
		u->loop_cfa = (__u32)cfa +
			      (OP_PHP_BYTE(word, flags) & OP_PHP_BODY_FP ? u->fp : u->sp);
	}
	op_state(u)->word[OP_PHP_FIRST] = next;
	op_state(u)->word[OP_PHP_PUSHED] = (__u64)u->out.words << 32 | u->out.frames;
	return next && !op_php_returns(u, word, next);
}

/* Push one PHP frame of the loop at u->pc, or continue natively. */
static __always_inline enum op_next op_step_php(struct op_unwind *u)
{
	__u64 word;
	__u32 error;

	if (op_state(u)->error)
		return op_php_leave(u, 0);
	if (!op_state(u)->word[OP_PHP_BEGUN]) {
		error = op_php_begin(u);
		if (error)
			return op_php_leave(u, error);
	}
	word = op_state(u)->word[OP_PHP_BEGUN];
	if (op_state(u)->word[OP_PHP_RUN] == OP_PHP_RUN_NONE
		    ? !op_php_enter(u, word)
		    : !op_state(u)->word[OP_PHP_NEXT])
		return op_php_leave(u, 0);
	return op_php_frame(u, word);
}

#endif
