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
	OP_BE_IS_ON = 0, /* sp is that of an Erlang stack */
	OP_BE_GUARD = 1, /* of the walk's frames; 0: not read yet */
	OP_BE_SCAN = 2,	 /* words of the frame at hand that hold no return address */
	OP_BE_IS_PUSHED = 3,
};

enum {
	OP_BE_SLOTS = 16,    /* words of the stack that a step looks at */
	OP_BE_WORDS = 1100,  /* the most in a frame: it has up to 1024 terms */
	OP_BE_CODE = 64,     /* bytes of code behind a call */
	OP_BE_PATTERNS = 56, /* of these, where an instruction of 4 bytes is searched */
	OP_BE_MOV_RBP = 0xec8948,	/* mov %rbp,%rsp */
	OP_BE_MOV_STOP = 0x658b49,	/* mov disp8(%r13),%rsp; the offset follows */
	OP_BE_RBX = 3,			/* the registers; DWARF's number */
	OP_BE_R13 = 13,			/* the process */
	OP_BE_CACHE_LINE = 64,
	OP_BE_GAP = 4, /* places that the loop's return address may have */
};

#define OP_BE_MEMBER(u, member)                                                          \
	op_arena_u64(u, op_state(u)->ref, __builtin_offsetof(struct op_beam, member))

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

static __always_inline bool op_be_is_shared(struct op_unwind *u)
{
	return u->pc - OP_BE_MEMBER(u, shared) <
	       OP_BE_MEMBER(u, shared_end) - OP_BE_MEMBER(u, shared);
}

static __always_inline bool op_be_is_loop(struct op_unwind *u)
{
	return u->pc - OP_BE_MEMBER(u, loop) <
	       OP_BE_MEMBER(u, loop_end) - OP_BE_MEMBER(u, loop);
}

/* Push the frame at pc. */
static __always_inline void op_be_push(struct op_unwind *u)
{
	__u64 *word = op_state(u)->word;
	__u64 entry[OP_BEAM_ENTRY_BYTES / 8] = { 0 };
	__u64 first = 0;

	if (!word[OP_BE_GUARD] &&
	    !op_platform_read(u, &first, sizeof(first), OP_BE_MEMBER(u, list)) &&
	    !op_platform_read(u, entry, sizeof(entry), first))
		word[OP_BE_GUARD] = op_beam_guard(first, entry[0], entry[2], entry[3]);
	op_push_word(u, op_runtime_word(u, OP_BEAM_FRAME_WORDS, u->pc - !u->exact));
	op_push_word(u, word[OP_BE_GUARD]);
	u->out.frames++;
	word[OP_BE_IS_PUSHED] = 1;
	word[OP_BE_SCAN] = 0;
}

/* The process that the thread runs. Returns 0 or -1. */
static __always_inline int op_be_process(struct op_unwind *u, __u64 *ret)
{
	__u64 slot = OP_BE_MEMBER(u, at); /* at | block << 32 */
	__u64 current = OP_BE_MEMBER(u, current);
	__u64 at = u->process.thread_pointer;

	if (u->exact) {
		*ret = u->reg[OP_BE_R13];
		return 0;
	}
	if (!at || op_platform_read(u, &at, sizeof(at), at + (__s64)(__s32)slot))
		return -1;
	at += (__s64)slot >> 32;
	if (op_platform_read(u, &at, sizeof(at), at))
		return -1;
	return op_platform_read(u, ret, sizeof(*ret), at + (__u32)current);
}

/* The pc is behind a call of C code: the Erlang stack goes to sp. Returns 0 or an error. */
static __always_inline __u32 op_be_find_stack(struct op_unwind *u)
{
	__u64 found = 0;
	__u64 process = 0;
	__u64 sp = u->fp;
	int i;

	if (op_platform_read(u, u->runtime_bytes, OP_BE_CODE, u->pc))
		return OP_ERROR_beam_read_code;
	for (i = 0; i < OP_BE_PATTERNS; i++) {
		/* Bytes, because words that are not aligned are no constants for the verifier. */
		const __u8 *b = &u->runtime_bytes[i];
		__u64 code = b[0] | (__u64)b[1] << 8 | (__u64)b[2] << 16;
		__u64 hit = op_be_none(code ^ OP_BE_MOV_RBP) |
			    op_be_none(code ^ OP_BE_MOV_STOP);

		found |= (code | (__u64)b[3] << 24) & -(hit & op_be_none(found));
	}
	if (!found)
		return OP_ERROR_beam_no_stack;
	if ((found & 0xffffff) == OP_BE_MOV_STOP &&
	    (op_be_process(u, &process) ||
	     op_platform_read(u, &sp, sizeof(sp), process + (found >> 24))))
		return OP_ERROR_beam_read_process;
	if (!sp || (sp & 7))
		return OP_ERROR_beam_no_stack;
	u->sp = sp;
	return 0;
}

/* The scheduler's loop: its caller is C code, on the same stack. @registers: the lowest address
 * of the registers, which the loop has aligned. */
static __always_inline enum op_next op_be_leave_loop(struct op_unwind *u, __u64 registers)
{
	__u64 bytes = OP_BE_MEMBER(u, registers_bytes);
	__u64 ra = 0;
	int i;

	op_be_push(u);
	op_state(u)->word[OP_BE_IS_PUSHED] = 0;
	for (i = 0; i < OP_BE_GAP; i++) {
		__u64 at = registers + (__u32)bytes + 8 + (__u64)i * 16;

		if (op_read_stack(u, at, &ra) || !op_is_return_address(u, ra))
			continue;
		u->pc = ra;
		u->sp = at + 8;
		u->exact = 0;
		u->guessed = 0;
		u->kept_lost = 1;
		return op_leave_runtime(u, 0);
	}
	return op_end(u, OP_ERROR_beam_read_frame);
}

/* Code that the JIT made was come to from C code, or was interrupted. */
static __always_inline enum op_next op_be_enter(struct op_unwind *u)
{
	__u64 *word = op_state(u)->word;
	__u64 registers = u->sp;
	__u32 error = 0;

	if (u->exact)
		registers = u->reg[OP_BE_RBX] - (OP_BE_MEMBER(u, current) >> 32);
	if (op_be_is_loop(u))
		return op_be_leave_loop(u, registers);
	if (registers == u->sp)
		error = u->heap_moved ? OP_ERROR_beam_late : op_be_find_stack(u);
	op_be_push(u);
	if (error)
		return op_end(u, error);
	word[OP_BE_IS_ON] = 1;
	return OP_NEXT_CONTINUE;
}

/* Look for the return address from sp on. Returns how many words are below it; or the number of
 * words that were looked at, with *@ret 0; or a negative number. */
static __always_inline __s64 op_be_scan(struct op_unwind *u, __u64 *ret)
{
	__u64 begin = OP_BE_MEMBER(u, begin);
	__u64 end = OP_BE_MEMBER(u, end);
	__u64 found = 0;
	__u64 below = 0;
	__u64 odd = 0;
	__u64 word;
	__u64 off;
	int i;

	if (op_read_stack(u, u->sp, &word))
		return -1;
	if (!op_state(u)->word[OP_BE_SCAN] && op_be_is_shared(u))
		odd = 3;
	off = (u->sp - u->window_at) >> 3;
	op_platform_bound(off);
	if (off > OP_WINDOW_BYTES / 8 - OP_BE_SLOTS) {
		/* the window ends before, or there is none: one word */
		*ret = word & -(op_be_none(word & (3 ^ odd)) & op_be_in(word, begin, end));
		return *ret ? 0 : 1;
	}
	for (i = 0; i < OP_BE_SLOTS; i++) {
		word = u->window[(off + i) & (OP_WINDOW_BYTES / 8 - 1)];
		found |= word & -(op_be_none(found) & op_be_none(word & (3 ^ odd)) &
				  op_be_in(word, begin, end));
		below += op_be_none(found);
		odd = 0;
	}
	*ret = found;
	return (__s64)below;
}

/* Push the frame at hand, or look for its return address. */
static __always_inline enum op_next op_step_beam(struct op_unwind *u)
{
	__u64 *word = op_state(u)->word;
	__u64 ra = 0;
	__s64 below;

	if (!op_state(u)->ref)
		return op_end(u, OP_ERROR_beam_no_process);
	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	if (!word[OP_BE_IS_ON])
		return op_be_enter(u);
	if (!word[OP_BE_IS_PUSHED])
		op_be_push(u);
	below = op_be_scan(u, &ra);
	if (below < 0)
		return op_end(u, OP_ERROR_beam_read_frame);
	u->sp += (__u64)below * 8;
	word[OP_BE_SCAN] += (__u64)below;
	if (!ra)
		return word[OP_BE_SCAN] < OP_BE_WORDS ? OP_NEXT_CONTINUE
						      : op_end(u, OP_ERROR_beam_no_return);
	u->sp += 8;
	u->pc = ra;
	u->exact = 0;
	if (ra == OP_BE_MEMBER(u, exit))
		return op_end(u, OP_END_COMPLETE);
	word[OP_BE_IS_PUSHED] = 0;
	return OP_NEXT_CONTINUE;
}

#endif
