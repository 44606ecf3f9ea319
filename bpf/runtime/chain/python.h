/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the CPython step reads of the heap, in advance (event/chain.h): the thread's state,
 * and each frame of its chain. */
#ifndef OP_PYTHON_CHAIN_H
#define OP_PYTHON_CHAIN_H

#include "bpf/runtime/python.h"

/* event/chain.h */
int op_chain_add(__u32 number, __u64 at, __u32 from, __u32 bytes, __u32 check);

/* Take the word at @at of slot @number's process. It is in runtime_bytes then. Returns 0 or -1. */
__attribute__((noinline)) int op_python_chain_word(__u32 number, __u64 at);
__attribute__((noinline)) int op_python_chain_word(__u32 number, __u64 at)
{
	struct op_slot *slot = op_slot_at(number);

	if (!slot || op_python_read(&slot->unwind, at,
				    (__u64 *)(void *)slot->unwind.runtime_bytes))
		return -1;
	return op_chain_add(number, at, 0, sizeof(__u64), 0);
}

static __always_inline __u64 op_python_chain_got(struct op_slot *slot)
{
	return *(__u64 *)(void *)slot->unwind.runtime_bytes;
}

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
	if (!at || op_python_chain_word(number, at))
		return 0;
	state = op_python_chain_got(slot);
	if (!state || state == own)
		return 0;
	(void)op_python_chain_word(number, state + OP_PY_WORD(&v, state_owner));
	(void)op_python_chain_word(number, state + OP_PY_INTERPRETER);
	(void)op_python_chain_word(number, own + OP_PY_INTERPRETER);
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
		if (op_python_chain_word(number, own + OP_PY_BYTE(words, state_cframe)))
			return 0;
		if ((OP_PY_BYTE(words, flags) & OP_PYTHON_CFRAME_FRAME) != 0)
			at = op_python_chain_got(slot) + OP_PY_BYTE(words, cframe_frame);
	}
	if (op_python_chain_word(number, at))
		return 0;
	op_state(&slot->unwind)->word[OP_PY_FRAME] = op_python_chain_got(slot);
	return op_python_chain_got(slot) != 0;
}

/* Make the state of the walk that of instance @i, a CPython. Returns where the thread
 * pointer leads to, or 0. */
static __always_inline __u64 op_python_chain_set(struct op_unwind *u, __u32 i, op_ref ref)
{
	struct op_runtime_view v;
	__u64 *words;

	__builtin_memset(&u->state, 0, sizeof(u->state));
	u->state.instance = i;
	u->state.runtime = OP_RUNTIME_PYTHON;
	u->state.ref = ref;
	if (!op_runtime_see(u, &v))
		return 0;
	words = &op_state(u)->word[OP_PY_WORDS];
	words[0] = op_runtime_seen(&v, 8);
	words[1] = op_runtime_seen(&v, 16);
	op_state(u)->word[OP_PY_CODE] = OP_PY_WORD(&v, id);
	return op_runtime_seen(&v, 0);
}

/* Is the running task followed? @state: the PyThreadState. */
static __always_inline bool op_python_chain_awaits(struct op_unwind *u, __u64 state)
{
	__u64 task = 0;
	__u64 at = op_runtime_u64(u, __builtin_offsetof(struct op_python, tasks));

	return (op_settings.runtimes_on & OP_STEPS_AWAIT) && (__u16)at &&
	       !op_python_read(u, state + (__u16)at, &task) && task;
}

/* Begin with the state of slot @number's thread, in instance @i, a CPython with struct @ref.
 * Returns whether it has frames. The chain of tasks that are followed is not taken. */
__attribute__((noinline)) int op_python_chain_begin(__u32 number, __u32 i, op_ref ref);
__attribute__((noinline)) int op_python_chain_begin(__u32 number, __u32 i, op_ref ref)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_unwind *u;
	__u64 state;
	__u64 at;

	if (!slot)
		return 0;
	u = &slot->unwind;
	at = op_python_chain_set(u, i, ref);
	if (!at || !u->process.thread_pointer)
		return 0;
	state = u->process.thread_pointer + (__s64)(__s32)at;
	if ((OP_PY_BYTE(&op_state(u)->word[OP_PY_WORDS], flags) &
	     OP_PYTHON_STATE_INDIRECT) != 0) {
		if (op_python_chain_word(number, state))
			return 0;
		state = op_python_chain_got(slot);
		if (!state)
			return 0;
		state += (__u64)((__s64)at >> 32);
	}
	if (op_python_chain_word(number, state))
		return 0;
	state = op_python_chain_got(slot);
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
	__u64 at;

	if (!slot)
		return 0;
	u = &slot->unwind;
	words = &op_state(u)->word[OP_PY_WORDS];
	at = op_state(u)->word[OP_PY_FRAME];
	if (op_python_read_frame(u, words, at) ||
	    op_chain_add(number, at + OP_PY_BYTE(words, read_from), 0,
			 OP_PY_BYTE(words, read_bytes), 0))
		return 0;
	op_state(u)->word[OP_PY_FRAME] =
		op_python_field(u, OP_PY_BYTE(words, frame_previous));
	code = op_python_field(u, OP_PY_BYTE(words, frame_code)) &
	       ~(__u64)OP_PY_BYTE(words, pointer_mask);
	if (code && op_python_told(u, code, &check) == 0)
		(void)op_chain_add(number,
				   op_runtime_word(u, OP_PYTHON_FRAME_WORDS, code), 0, 0,
				   check);
	return op_state(u)->word[OP_PY_FRAME] != 0;
}

#endif
