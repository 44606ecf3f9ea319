/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compiled traces of CPython ("the JIT", 3.14 on x86-64). The loop calls an entry, which
 * pushes the registers that its caller keeps and calls the trace; traces go on by jumps.
 * Their code keeps no frame pointer: rbp is still the loop's, or the code has pushed it and
 * uses it for something else. So the entry is looked for on the stack: a word that leads
 * behind its call, at that place of a page, where the very code of the entry stands. What it
 * pushed is known, and what lies above that leads behind a call of the loop.
 */
#ifndef OP_PYTHON_TRACE_H
#define OP_PYTHON_TRACE_H

#include "bpf/walk/native.h"
#include "bpf/walk/unwind.h"
#include "op_python.h"

enum {
	OP_PY_SLOT = 7, /* op_state(u)->word: of the stack, which is looked at next */
	OP_PY_TRACE_SLOTS = 128,
	OP_PY_PAGE_BYTES = 4096, /* an entry begins a page */
};

static __always_inline bool op_python_behind_call(struct op_unwind *u, __u64 ra)
{
	return ra >= OP_PC_MIN && ra < OP_ARCH_USER_END && op_call_before(u, ra);
}

/* Does the entry's call return to @ra? @entry: words of op_python from entry_code on. */
static __always_inline bool op_python_is_entry(struct op_unwind *u, const __u64 *entry,
					       __u64 ra)
{
	__u64 code = 0;

	return ra % OP_PY_PAGE_BYTES == (__u8)entry[1] && ra >= OP_PC_MIN &&
	       ra < OP_ARCH_USER_END && !op_platform_read(u, &code, sizeof(code), ra) &&
	       code == entry[0];
}

/* Is @fp the frame pointer of a function whose callee's frame ends at @sp? */
static __always_inline bool op_python_is_fp(struct op_unwind *u, __u64 sp, __u64 fp)
{
	__u64 ra = 0;

	return op_is_frame_pointer(sp, fp) && !op_read_stack(u, fp + 8, &ra) &&
	       op_python_behind_call(u, ra);
}

/* This code is none of a trace. */
static __always_inline enum op_next op_python_no_trace(struct op_unwind *u)
{
	op_state(u)->word[OP_PY_SLOT] = 0;
	return op_leave_runtime(u, 1);
}

/*
 * Push the trace's frame and go on where the loop called the entry: the return address @ra
 * stands at @at. @saved: what the trace may have pushed first, rbp. Which of the two is the
 * loop's shows in where it leads; where neither does, the loop need not have a frame
 * pointer, and the way from there on is marked.
 */
static __always_inline enum op_next op_python_leave_trace(struct op_unwind *u, __u64 at,
							  __u64 ra, __u64 saved)
{
	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	op_push_word(u, op_frame_word(op_frame_kind_now(u), u->pc));
	u->frames++;
	u->guessed = 0;
	if (!op_python_is_fp(u, at, u->fp)) {
		if (op_python_is_fp(u, at, saved))
			u->fp = saved;
		else
			u->guessed = OP_GUESSED_CALLER;
	}
	u->sp = at + 8;
	u->pc = ra;
	u->exact = 0;
	u->kept_lost = 1;
	op_state(u)->word[OP_PY_SLOT] = 0;
	return op_leave_runtime(u, 0);
}

/* Look at one slot more. Amid the entry the loop's return address is the next one behind a
 * call. */
static __always_inline enum op_next op_step_python_trace(struct op_unwind *u)
{
	op_ref process = op_state(u)->ref;
	__u32 off = __builtin_offsetof(struct op_python, entry_code);
	__u64 entry[2] = { op_arena_u64(u, process, off),
			   op_arena_u64(u, process, off + 8) };
	__u64 page = u->pc - u->pc % OP_PY_PAGE_BYTES;
	__u64 slot = op_state(u)->word[OP_PY_SLOT]++;
	__u64 at = u->sp + slot * 8;
	__u64 below = 0;
	__u64 ra = 0;

	if (!entry[0] || slot >= OP_PY_TRACE_SLOTS || op_read_stack(u, at, &ra))
		return op_python_no_trace(u);
	if (!u->exact || u->pc - page >= (__u8)(entry[1] >> 16) ||
	    !op_python_is_entry(u, entry, page + (__u8)entry[1])) {
		if (!op_python_is_entry(u, entry, ra))
			return OP_NEXT_CONTINUE;
		if (slot)
			op_read_stack(u, at - 8, &below);
		at += 8 + (__u64)(__u8)(entry[1] >> 8) * 8;
		if (op_read_stack(u, at, &ra))
			return OP_NEXT_CONTINUE;
	}
	return op_python_behind_call(u, ra) ? op_python_leave_trace(u, at, ra, below)
					    : OP_NEXT_CONTINUE;
}

#endif
