/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The CPython step. A C activation of the interpreter loop runs one Python frame (up to
 * 3.10) or a run of them (later), from the thread's innermost frame to the one with
 * which the activation was entered. Each step pushes one of them. At the run's end the
 * walk continues with the loop's own native frame, and the next activation continues
 * where this one ended. So native and Python frames appear in their true order.
 *
 * An activation that has not linked its frame into the thread's chain yet, or has
 * unlinked it already, must not get its caller's frames. Since 3.10 an activation with
 * a linked frame keeps a struct on the C stack, within its own native frame: a
 * _PyCFrame (3.10 to 3.12) or the hidden frame that ends its run (since 3.13). The
 * address of that struct shows whether the run belongs to this activation. Before 3.10,
 * and in 3.10 if the ranges are known, the pc shows it (op_python.edge).
 */
#ifndef OP_PYTHON_STEP_H
#define OP_PYTHON_STEP_H

#include "bpf/runtime/await/python.h"
#include "bpf/runtime/python_frame.h"
#include "bpf/runtime/python_trace.h"
#include "bpf/walk/unwind.h"
#include "op_python.h"

enum {
	/* largest return address, callee-saved registers and padding */
	OP_PY_SAVED_BYTES = 64,
	OP_PY_INTERPRETER = 16, /* PyThreadState.interp, to 3.10 */
};

/* Leave the step and continue with the loop's native frame. After an @error no Python
 * frame follows. */
static __always_inline enum op_next op_python_leave(struct op_unwind *u, __u32 error)
{
	if (error) {
		op_state(u)->error = error;
		op_state(u)->word[OP_PY_FRAME] = 0;
		op_state(u)->word[OP_PY_CFRAME] = 0;
	}
	op_state(u)->word[OP_PY_RUN] = 0;
	return op_leave_runtime(u, 1);
}

/* Read the heads of the chains of the PyThreadState at @state. Returns 0 or an error number. */
static __always_inline __u32 op_python_heads(struct op_unwind *u, const __u64 *words,
					     __u64 state)
{
	__u8 flags = OP_PY_BYTE(words, flags);

	if ((flags & OP_PYTHON_CFRAME) != 0 &&
	    op_python_read(u, state + OP_PY_BYTE(words, state_cframe),
			   &op_state(u)->word[OP_PY_CFRAME]))
		return OP_ERROR_python_read_state;
	if ((flags & OP_PYTHON_CFRAME_FRAME) == 0 &&
	    op_python_read(u, state + OP_PY_BYTE(words, state_frame),
			   &op_state(u)->word[OP_PY_FRAME]))
		return OP_ERROR_python_read_state;
	return 0;
}

static __always_inline bool op_python_in_loop_frame(struct op_unwind *u, __u64 addr)
{
	return addr >= u->sp && addr < u->loop_cfa;
}

/*
 * Does the PyThreadState at @state, which the interpreter names as running, run here?
 * Code in the loop itself holds the lock. Code that the loop called may have released
 * it: then the C frame has the state's innermost _PyCFrame. Before 3.10, the maker of
 * @state decides.
 */
static __always_inline bool
op_python_runs_here(struct op_unwind *u, const struct op_runtime_view *v, __u64 state)
{
	__u64 at = OP_PY_WORD(v, state_owner);
	__u64 word = 0;

	return u->exact ||
	       (!op_python_read(u, state + at, &word) &&
		(op_python_in_loop_frame(u, word) || word == u->process.thread_pointer));
}

/*
 * The PyThreadState that runs on this thread, of which @own is the first. A thread that
 * entered a sub-interpreter has another one, which any thread may have made. The
 * interpreter names it while the thread holds its lock. Returns 0 if it may be either:
 * before 3.10 nothing else shows whether a thread runs another interpreter's state that
 * it did not make.
 */
static __always_inline __u64 op_python_running(struct op_unwind *u,
					       const struct op_runtime_view *v,
					       const __u64 *words, __u64 own)
{
	__u64 at = OP_PY_WORD(v, current);
	__u64 interpreter = 0;
	__u64 state = 0;
	__u64 of = 0;

	if (!at || op_python_read(u, at, &state) || !state || state == own)
		return own;
	if (op_python_runs_here(u, v, state)) {
		op_state(u)->word[OP_PY_OTHER] = own;
		return state;
	}
	if (OP_PY_BYTE(words, state_cframe))
		return own;
	(void)op_python_read(u, own + OP_PY_INTERPRETER, &interpreter);
	(void)op_python_read(u, state + OP_PY_INTERPRETER, &of);
	return interpreter == of ? own : 0;
}

/* Find the thread state and read the heads of its chains. Returns 0 or an
 * error number. */
static __always_inline __u32 op_python_begin(struct op_unwind *u,
					     const struct op_runtime_view *v,
					     const __u64 *words, bool follow)
{
	__u64 at = op_runtime_seen(v, 0);
	__u8 flags = OP_PY_BYTE(words, flags);
	__u64 state = u->process.thread_pointer + (__s64)(__s32)at;
	__u64 own;

	if (!u->process.thread_pointer)
		return OP_ERROR_python_no_state;
	if ((flags & OP_PYTHON_STATE_INDIRECT) != 0) {
		if (op_python_read(u, state, &state))
			return OP_ERROR_python_read_state;
		if (!state)
			return OP_ERROR_python_no_state;
		state += (__s64)((__s64)at >> 32);
	}
	if (op_python_read(u, state, &own))
		return OP_ERROR_python_read_state;
	state = op_python_running(u, v, words, own);
	if (!state)
		return own ? OP_ERROR_python_other_chain : OP_ERROR_python_no_state;
	if (follow)
		op_python_await_begin(u, state);
	return op_python_heads(u, words, state);
}

/* Is u->pc at a place where the loop has no frame of its own in the thread's chain? */
static __always_inline bool op_python_at_edge(struct op_unwind *u, const __u64 *words)
{
	__u32 count = OP_PY_BYTE(words, edge_count);
	__u32 off = __builtin_offsetof(struct op_python, edge);
	__u64 pc = u->exact ? u->pc : u->pc - 1;
	struct op_runtime_view v;
	__u32 i;

	/* The pc is among the pushes or pops of callee-saved registers. */
	if (u->exact && u->loop_cfa - u->sp <= OP_PY_SAVED_BYTES)
		return true;
	if (!op_runtime_see(u, &v))
		return false;
	for (i = 0; i < OP_PYTHON_EDGES; i++, off += 16) {
		if (i >= count)
			break;
		if (pc >= op_runtime_seen(&v, off) && pc < op_runtime_seen(&v, off + 8))
			return true;
	}
	return false;
}

/* Is the activation one of the interpreter that called this one, on the same thread? Then its
 * chain is the walk's from here on. */
static __always_inline void op_python_go_out(struct op_unwind *u, const __u64 *words)
{
	__u64 other = op_state(u)->word[OP_PY_OTHER];
	__u64 cframe = op_state(u)->word[OP_PY_CFRAME];
	__u64 head = 0;

	/* since 3.12 the word is op_python_trace.h's */
	if (!other || (OP_PY_BYTE(words, flags) & OP_PYTHON_MARK_HIDDEN) != 0)
		return;
	if ((OP_PY_BYTE(words, flags) & OP_PYTHON_CFRAME) != 0) {
		if (op_python_in_loop_frame(u, cframe) ||
		    op_python_read(u, other + OP_PY_BYTE(words, state_cframe), &head) ||
		    !op_python_in_loop_frame(u, head))
			return;
	} else if (op_state(u)->word[OP_PY_FRAME]) {
		return;
	}
	op_state(u)->word[OP_PY_OTHER] = 0;
	(void)op_python_heads(u, words, other);
}

/* A run begins. Returns false if this activation has no frames, or on an error, which
 * *@ret_error then holds. An activation that called something has frames; the innermost one may
 * not have them yet. */
static __always_inline bool op_python_enter(struct op_unwind *u, const __u64 *words,
					    __u32 *ret_error)
{
	__u8 flags = OP_PY_BYTE(words, flags);
	__u64 cframe;

	op_python_go_out(u, words);
	cframe = op_state(u)->word[OP_PY_CFRAME];
	*ret_error = u->exact ? 0 : OP_ERROR_python_other_chain;
	if ((flags & OP_PYTHON_CFRAME) != 0) {
		if (!op_python_in_loop_frame(u, cframe))
			return false;
		if (op_platform_read_chain(u, u->runtime_bytes, OP_PYTHON_CFRAME_BYTES,
					   cframe)) {
			*ret_error = OP_ERROR_python_read_state;
			return false;
		}
		op_state(u)->word[OP_PY_CFRAME] =
			op_python_field(u, OP_PY_BYTE(words, cframe_previous));
		if ((flags & OP_PYTHON_CFRAME_FRAME) != 0)
			op_state(u)->word[OP_PY_FRAME] =
				op_python_field(u, OP_PY_BYTE(words, cframe_frame));
	} else if (op_python_at_edge(u, words)) {
		*ret_error = 0;
		return false;
	}
	op_python_forget_frames(u);
	op_state(u)->word[OP_PY_RUN] = op_state(u)->word[OP_PY_FRAME];
	op_state(u)->word[OP_PY_PUSHED] = (__u64)u->out.words << 32 | u->out.frames;
	return op_state(u)->word[OP_PY_FRAME] != 0;
}

/* The hidden frame ends a run. If the run was not this activation's, its frames are
 * taken back, and wait for their own activation. */
static __always_inline enum op_next op_python_end_run(struct op_unwind *u, __u64 frame,
						      __u8 flags, __u64 previous)
{
	__u64 pushed = op_state(u)->word[OP_PY_PUSHED];

	op_state(u)->word[OP_PY_FRAME] = previous;
	if ((flags & OP_PYTHON_CFRAME) == 0 && !op_python_in_loop_frame(u, frame)) {
		op_state(u)->word[OP_PY_FRAME] = op_state(u)->word[OP_PY_RUN];
		op_state(u)->word[OP_PY_COROUTINE] &= ~(__u64)OP_PY_AWAITED;
		u->out.words = (__u32)(pushed >> 32);
		u->out.frames = (__u32)pushed;
		return op_python_leave(u, u->exact ? 0 : OP_ERROR_python_other_chain);
	}
	return op_python_leave(u, 0);
}

/* Push the next frame of the chain, or end the run. @follow: tasks are followed. */
static __always_inline enum op_next op_python_frame(struct op_unwind *u,
						    const __u64 *words, bool follow)
{
	__u64 frame = op_state(u)->word[OP_PY_FRAME];
	__u8 flags = OP_PY_BYTE(words, flags);
	__u64 pointer_mask = OP_PY_BYTE(words, pointer_mask);
	__u64 previous;
	__u64 function;
	__u64 code;
	bool marked;
	__u64 at;

	if (op_python_read_frame(u, words, frame, &at))
		return op_python_leave(u, OP_ERROR_python_read_frame);
	previous = op_python_field(u, at + OP_PY_BYTE(words, frame_previous));
	marked = (flags & OP_PYTHON_ONE_FRAME) != 0 ||
		 op_python_byte(u, at + OP_PY_BYTE(words, frame_mark)) ==
			 OP_PY_BYTE(words, mark);
	if (marked && (flags & OP_PYTHON_MARK_HIDDEN) != 0)
		return op_python_end_run(u, frame, flags, previous);
	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	code = op_python_field(u, at + OP_PY_BYTE(words, frame_code)) & ~pointer_mask;
	function = op_python_field(u, at + OP_PY_BYTE(words, frame_function)) &
		   ~pointer_mask;
	if (code &&
	    ((flags & OP_PYTHON_FUNCTION) == 0 ||
	     function != op_state(u)->word[OP_PY_NONE]) &&
	    op_python_push(u, code, words, at))
		return op_python_leave(u, OP_ERROR_python_read_frame);
	op_state(u)->word[OP_PY_FRAME] = previous;
	if (marked || !previous)
		return op_python_leave(u, 0);
	if (follow && frame == op_state(u)->word[OP_PY_COROUTINE])
		op_python_await_start(u);
	return OP_NEXT_CONTINUE;
}

/* Keep what each frame needs of the process's struct op_python. Returns false if there is
 * none. */
static __always_inline bool op_python_layout(struct op_unwind *u,
					     struct op_runtime_view *ret)
{
	__u64 *words = &op_state(u)->word[OP_PY_WORDS];

	if (!op_runtime_see(u, ret))
		return false;
	words[0] = op_runtime_seen(ret, 8);
	words[1] = op_runtime_seen(ret, 16);
	op_state(u)->word[OP_PY_CODE] = OP_PY_WORD(ret, id);
	op_state(u)->word[OP_PY_NONE] = OP_PY_WORD(ret, none);
	return true;
}

/* The first step of a walk. Returns 0 or an error number. */
static __always_inline __u32 op_python_first(struct op_unwind *u, bool follow)
{
	struct op_runtime_view v;

	if (u->heap_moved && !op_platform_has_chain(u))
		return OP_ERROR_python_late;
	if (!op_python_layout(u, &v))
		return OP_ERROR_python_no_state;
	return op_python_begin(u, &v, &op_state(u)->word[OP_PY_WORDS], follow);
}

/*
 * At u->pc is the module of greenlet. If it called the function at which the chain ended,
 * that is a greenlet's first, and the stack above is not the greenlet's: it was its
 * starter's once, and other greenlets have used it since. While the module switches,
 * stack and chain may belong to two greenlets.
 */
static __always_inline enum op_next op_step_greenlet(struct op_unwind *u)
{
	struct op_runtime_state *s = op_state(u);

	if (!s->word[OP_PY_WORDS])
		s->word[OP_PY_SWITCH] = 1;
	else if (s->word[OP_PY_READ] && !s->error &&
		 !(s->word[OP_PY_RUN] | s->word[OP_PY_FRAME] | s->word[OP_PY_SWITCH]))
		return op_end(u, OP_END_COMPLETE);
	return op_leave_runtime(u, 1);
}

/* Push one Python frame of the interpreter loop at u->pc, or continue natively. In code
 * that the process generated, push the frame of a compiled trace. In the module of
 * greenlet the stack may end. @follow: the tasks that await the running one have their
 * frames behind its own. */
static __always_inline enum op_next op_step_python(struct op_unwind *u, bool follow)
{
	__u64 words[2];
	__u32 error;

	if (u->map.flags & OP_MAPPING_CODE)
		return u->map.segment ? op_step_greenlet(u) : op_step_python_trace(u);
	if (op_state(u)->error)
		return op_python_leave(u, 0);
	if (!op_state(u)->word[OP_PY_WORDS]) {
		error = op_python_first(u, follow);
		if (error)
			return op_python_leave(u, error);
	}
	words[0] = op_state(u)->word[OP_PY_WORDS];
	words[1] = op_state(u)->word[OP_PY_WORDS + 1];
	if (follow && op_state(u)->word[OP_PY_COROUTINE] & OP_PY_AWAITING)
		return op_python_await(u, words);
	if (!op_state(u)->word[OP_PY_RUN] && !op_python_enter(u, words, &error))
		return op_python_leave(u, error);
	return op_python_frame(u, words, follow);
}

#endif
