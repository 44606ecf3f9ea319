/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The step of BEAM walks the frames of code that its JIT made, on x86-64.
 *
 * An Erlang process has a stack of its own in its heap, and its code has that in rsp. A frame is a
 * few terms and the return address. A word of a frame whose two lowest bits are 0 is no term but an
 * address (erl_term.h), and that of code is the return address. In code that modules share the
 * return address may be odd; it is at sp. The stack ends at `exit`.
 *
 * C code that Erlang code calls runs on the thread's own stack. After such a call the Erlang stack
 * is read from where it was put away: from rbp, or from struct process.stop. The instruction that
 * does it tells which.
 */
#ifndef OP_BEAM_STEP_H
#define OP_BEAM_STEP_H

#include "bpf/walk/guess.h"
#include "op_beam.h"

/* Numbers of op_state(u)->word. */
enum {
	OP_BE_PLACE = 0, /* enum op_be_place, or an error */
	OP_BE_GUARD = 1, /* of the walk's frames; 0: not read yet */
	OP_BE_SCAN = 2,	 /* words without a result (before that, bytes of code) */
	OP_BE_IS_PUSHED = 3,
};

enum {
	OP_BE_SLOTS = 8,	   /* words of the stack that a step looks at */
	OP_BE_WORDS = 1100,	   /* the most in one frame, which has up to 1024 terms */
	OP_BE_CODE = 56,	   /* bytes of code behind a call */
	OP_BE_PIECE = 14,	   /* of these, the offsets that a step examines */
	OP_BE_MOV_RBP = 0xec8948,  /* mov %rbp,%rsp */
	OP_BE_MOV_STOP = 0x658b49, /* mov disp8(%r13),%rsp; the offset follows */
	OP_BE_RBX = 3,		   /* the registers; DWARF's number */
	OP_BE_R13 = 13,		   /* the process */
	OP_BE_PAGE = 4096,
	OP_BE_GAP = 64, /* size of the area with the loop's return address */
};

#define OP_BE_MEMBER(u, member)                                                          \
	op_runtime_u64(u, __builtin_offsetof(struct op_beam, member))

/* The state of the walk. */
enum op_be_place {
	OP_BE_UNKNOWN = 0,
	OP_BE_ON_STACK, /* sp is that of an Erlang stack */
	OP_BE_IN_LOOP,	/* of the scheduler, on the thread's own stack */
	OP_BE_AT_END,	/* in code without an Erlang stack */
};

/* 1 if a < b, 0 if not, of numbers below 1 << 63; without a branch. */
static __always_inline __u64 op_be_less(__u64 a, __u64 b)
{
	return (a - b) >> 63;
}

/* 1 if @condition, a number, is 0; without a branch. */
static __always_inline __u64 op_be_none(__u64 condition)
{
	return ~(condition | -condition) >> 63;
}

/* 1 if @at is in [begin, end), addresses of user space; without a branch. */
static __always_inline __u64 op_be_in(__u64 at, __u64 begin, __u64 end)
{
	return op_be_less(at, end) & ~op_be_less(at, begin) & 1;
}

/* Push the frame at pc. */
static __always_inline void op_be_push(struct op_unwind *u)
{
	__u64 *word = op_state(u)->word;
	__u64 entry[OP_BEAM_ENTRY_BYTES / 8] = { 0 };
	__u64 first = 0;

	if (!word[OP_BE_GUARD]) {
		op_platform_read(u, &first, sizeof(first), OP_BE_MEMBER(u, list));
		op_platform_read(u, entry, sizeof(entry), first);
		word[OP_BE_GUARD] = op_beam_guard(first, entry[0], entry[2], entry[3]);
	}
	op_push_word(u, op_runtime_word(u, OP_BEAM_FRAME_WORDS, u->pc - !u->exact));
	op_push_word(u, word[OP_BE_GUARD]);
	u->out.frames++;
	word[OP_BE_IS_PUSHED] = 1;
	word[OP_BE_SCAN] = 0;
}

/* The struct process that the thread runs, or 0. */
static __always_inline __u64 op_be_process(struct op_unwind *u)
{
	__u64 slot = OP_BE_MEMBER(u, at); /* at | block << 32 */
	__u64 at = u->process.thread_pointer;

	if (u->exact)
		return u->reg[OP_BE_R13];
	if (!at || op_platform_read(u, &at, sizeof(at), at + (__s64)(__s32)slot) ||
	    op_platform_read(u, &at, sizeof(at), at + ((__s64)slot >> 32)) ||
	    op_platform_read(u, &at, sizeof(at), at + (__u32)OP_BE_MEMBER(u, current)))
		return 0;
	return at;
}

/* The pc is behind a call of C code. Set sp to the Erlang stack. Returns the state of
 * the walk. */
static __always_inline __u32 op_be_find_stack(struct op_unwind *u)
{
	__u64 *scan = &op_state(u)->word[OP_BE_SCAN];
	const __u8 *b = u->runtime_bytes;
	__u64 found = 0;
	__u64 process;
	__u64 sp = u->fp;
	__u64 code;
	__u64 miss;
	int i;

	if (op_platform_read(u, u->runtime_bytes, 24, u->pc + *scan))
		return OP_ERROR_beam_read_code;
	code = (__u64)b[0] << 8 | (__u64)b[1] << 16 | (__u64)b[2] << 24;
	for (i = 0; i < OP_BE_PIECE; i++) {
		code = code >> 8 | (__u64)b[i + 3] << 24;
		miss = ((code & 0xffffff) ^ OP_BE_MOV_RBP) *
		       ((code & 0xffffff) ^ OP_BE_MOV_STOP);
		found |= code & -(op_be_none(miss) & op_be_none(found));
	}
	*scan += OP_BE_PIECE;
	if (!found)
		return *scan < OP_BE_CODE ? OP_BE_UNKNOWN : OP_ERROR_beam_no_stack;
	if ((found & 0xffffff) == OP_BE_MOV_STOP) {
		process = op_be_process(u);
		if (!process ||
		    op_platform_read(u, &sp, sizeof(sp), process + (found >> 24)))
			return OP_ERROR_beam_read_process;
	}
	if (!sp || (sp & 7))
		return OP_ERROR_beam_no_stack;
	u->sp = sp;
	return OP_BE_ON_STACK;
}

/* Code that the JIT made was reached from C code, or was interrupted. Returns the state
 * of the walk. */
static __always_inline __u32 op_be_enter(struct op_unwind *u)
{
	__u64 registers = u->sp;

	if (u->exact)
		registers = u->reg[OP_BE_RBX] - (OP_BE_MEMBER(u, current) >> 32);
	if (u->pc - OP_BE_MEMBER(u, loop) <
	    OP_BE_MEMBER(u, loop_end) - OP_BE_MEMBER(u, loop)) {
		u->sp = registers;
		return OP_BE_IN_LOOP;
	}
	/* the process ends, and has no stack */
	if (u->pc - OP_BE_MEMBER(u, exit) <
	    OP_BE_MEMBER(u, exit_end) - OP_BE_MEMBER(u, exit))
		return OP_BE_AT_END;
	if (registers != u->sp)
		return OP_BE_ON_STACK;
	return u->heap_moved ? OP_ERROR_beam_late : op_be_find_stack(u);
}

/* The scheduler's loop goes to its caller, C code. It has aligned its frame, which begins at sp with
 * the registers. */
static __always_inline enum op_next op_be_leave_loop(struct op_unwind *u)
{
	__u64 at = u->sp + (__u32)OP_BE_MEMBER(u, registers_bytes);
	__u64 begin = OP_BE_MEMBER(u, caller);
	__u64 end = OP_BE_MEMBER(u, caller_end);
	__u64 ra = 0;
	__u64 below = 0;
	__u64 i;

	if (op_platform_read_stack(u, u->runtime_bytes, OP_BE_GAP, at))
		return op_end(u, OP_ERROR_beam_read_frame);
	for (i = 0; i < OP_BE_GAP / 8; i++) {
		__u64 word = *(__u64 *)(u->runtime_bytes + i * 8);

		ra |= word & -(op_be_none(ra) & op_be_in(word, begin, end));
		below += op_be_none(ra);
	}
	if (!ra)
		return op_end(u, OP_ERROR_beam_read_frame);
	u->pc = ra;
	u->sp = at + below * 8 + 8;
	u->exact = 0;
	u->guessed = 0;
	u->kept_lost = 1;
	op_state(u)->word[OP_BE_PLACE] = OP_BE_UNKNOWN;
	op_state(u)->word[OP_BE_IS_PUSHED] = 0;
	return op_leave_runtime(u, 0);
}

/* Read the stack from sp on into the window. Returns how many words of it a step
 * examines: one if memory ends soon, or 0. */
static __always_inline __u64 op_be_load(struct op_unwind *u)
{
	if (u->sp - u->window_at <= OP_WINDOW_BYTES - OP_BE_SLOTS * 8)
		return OP_BE_SLOTS;
	u->window_at = u->sp;
	if (!op_platform_read_stack(u, u->window, OP_WINDOW_BYTES, u->sp))
		return OP_BE_SLOTS;
	u->window_at = ~0ULL;
	return !op_platform_read_stack(u, u->window, 8, u->sp);
}

/* Search for the return address from sp on, and continue at the caller. */
static __always_inline enum op_next op_be_scan(struct op_unwind *u)
{
	__u64 *state = op_state(u)->word;
	__u64 begin = OP_BE_MEMBER(u, begin);
	__u64 end = OP_BE_MEMBER(u, end);
	__u64 count = op_be_load(u);
	__u64 found = 0;
	__u64 below = 0;
	__u64 live; /* 1: no return address yet, in a word that was read */
	__u64 odd;
	__u64 off;
	__u64 word;
	__u64 i;

	if (!count) {
		/* A leaf makes its frame in a page that was never written, and faults. */
		below = (OP_BE_PAGE - (u->sp & (OP_BE_PAGE - 1))) / 8;
		u->sp += below * 8;
		state[OP_BE_SCAN] += below;
		return u->exact && state[OP_BE_SCAN] < OP_BE_WORDS
			       ? OP_NEXT_CONTINUE
			       : op_end(u, OP_ERROR_beam_read_frame);
	}
	op_platform_bound(count);
	off = (u->sp - u->window_at) >> 3;
	off &= op_be_less(off, OP_WINDOW_BYTES / 8) * (OP_WINDOW_BYTES / 8 - 1);
	odd = 3 * (op_be_none(state[OP_BE_SCAN]) &
		   op_be_in(u->pc, OP_BE_MEMBER(u, shared), OP_BE_MEMBER(u, shared_end)));
	for (i = 0; i < OP_BE_SLOTS; i++) {
		word = u->window[(off + i) & (OP_WINDOW_BYTES / 8 - 1)];
		live = op_be_none(found) & op_be_less(i, count);
		found |= word & -(live & op_be_none(word & (3 ^ odd)) &
				  op_be_in(word, begin, end));
		below += live & op_be_none(found);
		odd = 0;
	}
	u->sp += below * 8;
	state[OP_BE_SCAN] += below;
	if (!found)
		return state[OP_BE_SCAN] < OP_BE_WORDS
			       ? OP_NEXT_CONTINUE
			       : op_end(u, OP_ERROR_beam_no_return);
	u->sp += 8;
	u->pc = found;
	u->exact = 0;
	if (found == OP_BE_MEMBER(u, exit))
		return op_end(u, OP_END_COMPLETE);
	state[OP_BE_IS_PUSHED] = 0;
	return OP_NEXT_CONTINUE;
}

/* Find the state of the walk. Or push the current frame, and search for its return
 * address. */
static __always_inline enum op_next op_step_beam(struct op_unwind *u)
{
	__u64 *word = op_state(u)->word;

	if (!op_state(u)->ref)
		return op_end(u, OP_ERROR_beam_no_process);
	if (!word[OP_BE_PLACE]) {
		word[OP_BE_PLACE] = op_be_enter(u);
		return OP_NEXT_CONTINUE;
	}
	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	if (!word[OP_BE_IS_PUSHED])
		op_be_push(u);
	switch (word[OP_BE_PLACE]) {
	case OP_BE_ON_STACK:
		return op_be_scan(u);
	case OP_BE_IN_LOOP:
		return op_be_leave_loop(u);
	case OP_BE_AT_END:
		return op_end(u, OP_END_COMPLETE);
	default:
		return op_end(u, (__u32)word[OP_BE_PLACE]);
	}
}

#endif
