/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compiled traces of CPython ("the JIT", 3.14 on x86-64). The loop calls an entry stub,
 * which pushes the callee-saved registers and calls the trace; traces continue by jumps
 * to other traces. Their code keeps no frame pointer: rbp is still the loop's, or the
 * code has pushed it and uses the register for something else. So the step searches the
 * stack for the return address of the stub's call: a word with the known offset in its
 * page, at which the stub's own code stands. The number of words that the stub pushes is
 * known, and above them lies a return address into the loop.
 */
#ifndef OP_PYTHON_TRACE_H
#define OP_PYTHON_TRACE_H

#include "bpf/walk/native.h"
#include "bpf/walk/unwind.h"
#include "op_python.h"

enum {
	OP_PY_SLOT = 7, /* op_state(u)->word: the stack slot to examine next */
	OP_PY_TRACE_SLOTS = 128,
	OP_PY_PAGE_BYTES = 4096, /* an entry stub begins a page */
};

/* Does the stub's call return to @ra? @entry: the words of op_python from
 * entry_code on. */
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
	       op_is_behind_call(u, ra);
}

/* The code is not a trace. */
static __always_inline enum op_next op_python_no_trace(struct op_unwind *u)
{
	op_state(u)->word[OP_PY_SLOT] = 0;
	return op_leave_runtime(u, 1);
}

/*
 * Push the trace's frame and continue where the loop called the stub; the return
 * address @ra is at @at. @saved is the word that the trace pushed first, possibly rbp.
 * The loop's rbp is the one of u->fp and @saved that leads to a frame record. If
 * neither does, the loop may have no frame pointer, and the rest of the walk is marked
 * as guessed.
 */
static __always_inline enum op_next op_python_leave_trace(struct op_unwind *u, __u64 at,
							  __u64 ra, __u64 saved)
{
	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	op_push_word(u, op_frame_word(op_frame_kind_now(u), u->pc));
	u->out.frames++;
	u->guessed = 0;
	if (!op_python_is_fp(u, at, u->fp)) {
		if (op_python_is_fp(u, at, saved))
			u->fp = saved;
		else
			u->guessed = OP_GUESSED_WAY;
	}
	u->sp = at + 8;
	u->pc = ra;
	u->exact = 0;
	u->kept_lost = 1;
	op_state(u)->word[OP_PY_SLOT] = 0;
	return op_leave_runtime(u, 0);
}

/* Examine one more stack slot. If the pc is within the stub itself, the next return
 * address on the stack is the loop's. */
static __always_inline enum op_next op_step_python_trace(struct op_unwind *u)
{
	__u32 off = __builtin_offsetof(struct op_python, entry_code);
	__u64 entry[2] = { op_runtime_u64(u, off), op_runtime_u64(u, off + 8) };
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
	return op_is_behind_call(u, ra) ? op_python_leave_trace(u, at, ra, below)
					: OP_NEXT_CONTINUE;
}

#endif
