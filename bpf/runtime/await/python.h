/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tasks of asyncio that await the running one (CPython 3.14 and later). Coroutines that
 * await each other in one task are on the thread's chain of frames. A task that awaits
 * another task is not: it is suspended in the heap. Behind the frame of the running task's
 * outermost coroutine the step pushes the frames of the task that awaits it, of the one that
 * awaits that one, and so on; then the event loop's own frames follow.
 *
 * A coroutine leads to the one that it awaits, so a task's frames come outermost first.
 * They are reversed once the innermost one is known. The process does not run meanwhile,
 * and one thread runs all of a loop's tasks: so none of this changes during the walk.
 */
#ifndef OP_PYTHON_AWAIT_H
#define OP_PYTHON_AWAIT_H

#include "bpf/runtime/python_frame.h"
#include "bpf/walk/unwind.h"
#include "op_python.h"

enum {
	/* bits of op_state(u)->word[OP_PY_COROUTINE] */
	OP_PY_AWAITING = 1 << 0, /* frames of tasks are being pushed */
	OP_PY_AWAITED = 1 << 1,	 /* frames of tasks were pushed */
	OP_PY_TYPE = 8,		 /* PyObject.ob_type */
	/* PyAsyncGenASend.ags_gen */
	OP_PY_ASEND_GENERATOR = 16,
	OP_PY_OWNED_BY_GENERATOR = 1, /* enum _frameowner, since 3.11 */
};

/* Between two steps: in runtime_bytes, behind the frame that is read there. No other
 * step runs meanwhile. */
struct op_python_await {
	__u64 task;	 /* whose frames are pushed, or whose awaiter is looked for */
	__u64 coroutine; /* whose frame is the next, or 0 */
	__u32 words;	 /* u->out.words and u->out.frames before the task's own */
	__u32 frames;
	__u32 low; /* the words of the frames that are exchanged next, if low < high */
	__u32 high;
	__u32 left; /* objects that may still be read */
	__u32 reserved;
};

_Static_assert(OP_PY_AWAIT_AT + sizeof(struct op_python_await) <= OP_RUNTIME_BYTES,
	       "both fit");

static __always_inline struct op_python_await *op_python_awaits(struct op_unwind *u)
{
	return (struct op_python_await *)(void *)(u->runtime_bytes + OP_PY_AWAIT_AT);
}

/* Byte @member of struct op_python_tasks; @tasks: its words 0 and 1. */
#define OP_PY_TASKS_BYTE(tasks, member)                                                  \
	OP_PY_BYTE_OF(tasks, __builtin_offsetof(struct op_python_tasks, member))

/* The word of the process's struct op_python_tasks that begins with @member. */
#define OP_PY_TASKS_WORD(u, member)                                                      \
	op_runtime_u64(u, __builtin_offsetof(struct op_python, tasks) +                  \
				  __builtin_offsetof(struct op_python_tasks, member))

static __always_inline int op_python_read_byte(struct op_unwind *u, __u64 addr, __u8 *ret)
{
	return op_platform_read_chain(u, ret, sizeof(*ret), addr) ? -1 : 0;
}

/* The walk begins on the thread whose PyThreadState is at @state: find the frame of the
 * running task's coroutine. */
static __always_inline void op_python_await_begin(struct op_unwind *u, __u64 state)
{
	__u64 tasks[2] = { OP_PY_TASKS_WORD(u, state_task), OP_PY_TASKS_WORD(u, awaits) };
	__u64 task = 0;
	__u64 coroutine = 0;

	if (!(__u16)tasks[0] || op_python_read(u, state + (__u16)tasks[0], &task) ||
	    !task ||
	    op_python_read(u, task + OP_PY_TASKS_BYTE(tasks, task_coroutine),
			   &coroutine) ||
	    !coroutine)
		return;
	op_state(u)->word[OP_PY_TASK] = task;
	op_state(u)->word[OP_PY_COROUTINE] =
		coroutine + OP_PY_TASKS_BYTE(tasks, generator_frame);
}

/* The frame of the running task's coroutine has been pushed. */
static __always_inline void op_python_await_start(struct op_unwind *u)
{
	struct op_python_await *a = op_python_awaits(u);

	a->task = op_state(u)->word[OP_PY_TASK];
	a->coroutine = 0;
	a->low = a->high = 0;
	a->left = OP_PYTHON_AWAITS_MAX;
	op_state(u)->word[OP_PY_COROUTINE] |= OP_PY_AWAITING;
}

/* Continue with the event loop's frames. After an @error the stack is marked, but these
 * are pushed. */
static __always_inline enum op_next op_python_await_end(struct op_unwind *u, __u32 error)
{
	if (error && !u->error)
		u->error = error;
	op_state(u)->word[OP_PY_COROUTINE] ^= OP_PY_AWAITING | OP_PY_AWAITED;
	return OP_NEXT_CONTINUE;
}

/* The frames of this task are not all there: leave them out. */
static __always_inline enum op_next op_python_await_drop(struct op_unwind *u, __u32 error)
{
	struct op_python_await *a = op_python_awaits(u);

	u->out.words = a->words;
	u->out.frames = a->frames;
	return op_python_await_end(u, error);
}

/* Find the task that awaits a->task. A future in between, such as gather()'s, has no
 * frame. If several tasks await it, none of them is the caller. */
static __always_inline enum op_next op_python_await_task(struct op_unwind *u,
							 const __u64 *tasks)
{
	struct op_python_await *a = op_python_awaits(u);
	__u64 awaiter = 0;
	__u8 in_set = 0;
	__u8 is_task = 0;

	if (op_python_read_byte(u, a->task + OP_PY_TASKS_BYTE(tasks, task_in_set),
				&in_set) ||
	    op_python_read(u, a->task + OP_PY_TASKS_BYTE(tasks, task_awaiter), &awaiter))
		return op_python_await_end(u, OP_ERROR_python_read_frame);
	if (in_set || !awaiter)
		return op_python_await_end(u, 0);
	if (!a->left--)
		return op_python_await_end(u, OP_ERROR_python_awaits_cut);
	a->task = awaiter;
	if (op_python_read_byte(u, awaiter + OP_PY_TASKS_BYTE(tasks, task_is_task),
				&is_task) ||
	    (is_task &&
	     op_python_read(u, awaiter + OP_PY_TASKS_BYTE(tasks, task_coroutine),
			    &a->coroutine)))
		return op_python_await_end(u, OP_ERROR_python_read_frame);
	a->words = u->out.words;
	a->frames = u->out.frames;
	return OP_NEXT_CONTINUE;
}

/* The task's innermost frame is pushed. */
static __always_inline enum op_next op_python_await_turn(struct op_unwind *u)
{
	struct op_python_await *a = op_python_awaits(u);

	a->coroutine = 0;
	a->low = a->words;
	a->high = u->out.words - OP_PYTHON_FRAME_WORDS;
	return OP_NEXT_CONTINUE;
}

/* Exchange two frames of the task, of two words each. */
static __always_inline enum op_next op_python_await_exchange(struct op_unwind *u)
{
	struct op_python_await *a = op_python_awaits(u);
	__u64 *word = op_platform_words(u);
	__u32 low = a->low;
	__u32 high = a->high;
	__u64 kept;
	__u32 i;

	op_platform_bound(low);
	op_platform_bound(high);
	if (low >= OP_WORDS_MAX - 1 || high >= OP_WORDS_MAX - 1)
		return op_python_await_drop(u, OP_ERROR_python_awaits_cut);
	for (i = 0; i < OP_PYTHON_FRAME_WORDS; i++) {
		kept = word[low + i];
		word[low + i] = word[high + i];
		word[high + i] = kept;
	}
	a->low = low + OP_PYTHON_FRAME_WORDS;
	a->high = high - OP_PYTHON_FRAME_WORDS;
	return OP_NEXT_CONTINUE;
}

/* Is an object of type @type a generator of some kind, which has a frame? */
static __always_inline bool op_python_has_frame(struct op_unwind *u, __u64 type)
{
	return type == OP_PY_TASKS_WORD(u, coroutine_type) ||
	       type == OP_PY_TASKS_WORD(u, generator_type) ||
	       type == OP_PY_TASKS_WORD(u, asyncgen_type);
}

/* Push the frame of a->coroutine, and find what it awaits. An object without a frame
 * ends the task: usually it is a future. */
static __always_inline enum op_next
op_python_await_frame(struct op_unwind *u, const __u64 *words, const __u64 *tasks)
{
	__u64 mask = ~(__u64)OP_PY_BYTE(words, pointer_mask);
	struct op_python_await *a = op_python_awaits(u);
	__u64 object = a->coroutine;
	__u64 type = 0;
	__u64 code;
	__u8 state = 0;
	__u64 at;

	if (op_python_read(u, object + OP_PY_TYPE, &type) || !type)
		return op_python_await_drop(u, OP_ERROR_python_read_frame);
	if (!a->left--)
		return op_python_await_drop(u, OP_ERROR_python_awaits_cut);
	if (type == OP_PY_TASKS_WORD(u, asend_type))
		return op_python_read(u, object + OP_PY_ASEND_GENERATOR, &a->coroutine)
			       ? op_python_await_drop(u, OP_ERROR_python_read_frame)
			       : OP_NEXT_CONTINUE;
	if (!op_python_has_frame(u, type))
		return op_python_await_turn(u);
	if (op_python_read_byte(u, object + OP_PY_TASKS_BYTE(tasks, generator_state),
				&state) ||
	    op_python_read_frame(u, words,
				 object + OP_PY_TASKS_BYTE(tasks, generator_frame), &at))
		return op_python_await_drop(u, OP_ERROR_python_read_frame);
	/* The state before `awaits` is that of one that has yielded. */
	if ((__u8)(OP_PY_TASKS_BYTE(tasks, awaits) - state) > 1 ||
	    op_python_byte(u, at + OP_PY_BYTE(words, frame_mark)) !=
		    OP_PY_OWNED_BY_GENERATOR)
		return op_python_await_turn(u);
	code = op_python_field(u, at + OP_PY_BYTE(words, frame_code)) & mask;
	object = op_python_field(u, at + OP_PY_TASKS_BYTE(tasks, frame_stack));
	if (!op_frame_room(u) || !code)
		return op_python_await_drop(u, OP_ERROR_python_awaits_cut);
	if (op_python_push(u, code, words, at))
		return op_python_await_drop(u, OP_ERROR_python_read_frame);
	if (state != OP_PY_TASKS_BYTE(tasks, awaits))
		return op_python_await_turn(u);
	if (op_python_read(u, object - OP_PY_TASKS_BYTE(tasks, awaited_below),
			   &a->coroutine))
		return op_python_await_drop(u, OP_ERROR_python_read_frame);
	a->coroutine &= mask;
	return a->coroutine ? OP_NEXT_CONTINUE : op_python_await_turn(u);
}

/* One step on the way through the tasks. */
static __always_inline enum op_next op_python_await(struct op_unwind *u,
						    const __u64 *words)
{
	__u64 tasks[2] = { OP_PY_TASKS_WORD(u, state_task), OP_PY_TASKS_WORD(u, awaits) };
	struct op_python_await *a = op_python_awaits(u);

	if (a->coroutine)
		return op_python_await_frame(u, words, tasks);
	if (a->low < a->high)
		return op_python_await_exchange(u);
	return op_python_await_task(u, tasks);
}

#endif
