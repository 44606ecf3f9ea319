/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the CPython step reads of the heap, in advance (event/chain.h): the thread's state,
 * and each frame of its chain. */
#ifndef OP_PYTHON_CHAIN_H
#define OP_PYTHON_CHAIN_H

#include "bpf/runtime/chain/piece.h"
#include "bpf/runtime/python.h"

/* What shows whether another PyThreadState runs on slot @number's thread than @own
 * (op_python_running()). */
__attribute__((noinline)) int op_python_chain_running(__u32 number, __u64 own);
__attribute__((noinline)) int op_python_chain_running(__u32 number, __u64 own)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_runtime_view v;
	__u64 state;
	__u64 at;

	if (!slot || !op_runtime_see(&slot->unwind, &v))
		return 0;
	at = OP_PY_WORD(&v, current);
	if (!at || op_chain_word(number, at, 8))
		return 0;
	state = op_chain_got(&slot->unwind);
	if (!state || state == own)
		return 0;
	(void)op_chain_word(number, state + OP_PY_WORD(&v, state_owner), 8);
	(void)op_chain_word(number, state + OP_PY_INTERPRETER, 8);
	(void)op_chain_word(number, own + OP_PY_INTERPRETER, 8);
	return 0;
}

/* Take the heads of the chains of the PyThreadState at @own. Returns whether it has frames. */
__attribute__((noinline)) int op_python_chain_heads(__u32 number, __u64 own);
__attribute__((noinline)) int op_python_chain_heads(__u32 number, __u64 own)
{
	struct op_slot *slot = op_slot_at(number);
	const __u64 *words;
	__u64 at;

	if (!slot)
		return 0;
	words = &op_state(&slot->unwind)->word[OP_PY_WORDS];
	at = own + OP_PY_BYTE(words, state_frame);
	if ((OP_PY_BYTE(words, flags) & OP_PYTHON_CFRAME) != 0) {
		if (op_chain_word(number, own + OP_PY_BYTE(words, state_cframe), 8))
			return 0;
		if ((OP_PY_BYTE(words, flags) & OP_PYTHON_CFRAME_FRAME) != 0)
			at = op_chain_got(&slot->unwind) +
			     OP_PY_BYTE(words, cframe_frame);
	}
	if (op_chain_word(number, at, 8))
		return 0;
	op_state(&slot->unwind)->word[OP_PY_FRAME] = op_chain_got(&slot->unwind);
	return op_chain_got(&slot->unwind) != 0;
}

/* Is the running task followed? @state: the PyThreadState. */
static __always_inline bool op_python_chain_awaits(struct op_unwind *u, __u64 state)
{
	__u64 task = 0;
	__u64 at = op_runtime_u64(u, __builtin_offsetof(struct op_python, tasks));

	return (op_settings.runtimes_on & OP_STEPS_AWAIT) && (__u16)at &&
	       !op_python_read(u, state + (__u16)at, &task) && task;
}

/* Begin with the state of slot @number's thread. Returns whether it has frames. The chain of
 * tasks that are followed is not taken. */
__attribute__((noinline)) int op_python_chain_begin(__u32 number);
__attribute__((noinline)) int op_python_chain_begin(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_runtime_view v;
	struct op_unwind *u;
	__u64 state;
	__u64 at;

	if (!slot)
		return 0;
	u = &slot->unwind;
	if (!op_python_layout(u, &v) || !u->process.thread_pointer)
		return 0;
	op_python_forget_frames(u);
	at = op_runtime_seen(&v, 0);
	state = u->process.thread_pointer + (__s64)(__s32)at;
	if ((OP_PY_BYTE(&op_state(u)->word[OP_PY_WORDS], flags) &
	     OP_PYTHON_STATE_INDIRECT) != 0) {
		if (op_chain_word(number, state, 8) || !op_chain_got(u))
			return 0;
		state = op_chain_got(u) + (__u64)((__s64)at >> 32);
	}
	if (op_chain_word(number, state, 8))
		return 0;
	state = op_chain_got(u);
	if (!state || op_python_chain_awaits(u, state))
		return 0;
	(void)op_python_chain_running(number, state);
	return op_python_chain_heads(number, state);
}

/* Take the next frame of slot @number's chain, and tell the name of its code. Returns
 * whether another frame follows. */
__attribute__((noinline)) int op_python_chain_frame(__u32 number);
__attribute__((noinline)) int op_python_chain_frame(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	const __u64 *words;
	struct op_unwind *u;
	__u32 check = 0;
	__u64 code;
	__u64 from;
	__u64 at;

	if (!slot)
		return 0;
	u = &slot->unwind;
	words = &op_state(u)->word[OP_PY_WORDS];
	at = op_state(u)->word[OP_PY_FRAME];
	if (op_python_read_frame(u, words, at, &from) ||
	    op_chain_add(number, at + OP_PY_BYTE(words, read_from), (__u32)from,
			 OP_PY_BYTE(words, read_bytes), 0))
		return 0;
	op_state(u)->word[OP_PY_FRAME] =
		op_python_field(u, from + OP_PY_BYTE(words, frame_previous));
	code = op_python_field(u, from + OP_PY_BYTE(words, frame_code)) &
	       ~(__u64)OP_PY_BYTE(words, pointer_mask);
	if (code && op_python_told(u, code, &check) == 0)
		(void)op_chain_add(number,
				   op_runtime_word(u, OP_PYTHON_FRAME_WORDS, code), 0, 0,
				   check);
	return op_state(u)->word[OP_PY_FRAME] != 0;
}

#endif
