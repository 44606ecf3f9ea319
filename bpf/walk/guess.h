/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Guesses the caller of code without unwind data: hand-written assembly, start files,
 * files compiled without tables, and code that a process generated without frame
 * pointers. The guess is checked: a return address must follow a call instruction in a
 * known executable mapping. The guess is the nearest such word above sp, or the return
 * address of the frame record at fp. It is taken if its own caller is valid, too: that
 * must follow a call as well. A frame found this way is marked. A stack slot with the
 * return address of an earlier call can still mislead the walk.
 */
#ifndef OP_GUESS_H
#define OP_GUESS_H

#include "bpf/walk/find.h"

enum {
	OP_GUESS_SLOTS = 128, /* the most words of the stack that are searched */
	/* words that are searched in a leaf before fp is tried: a leaf has pushed little
	 * or nothing */
	OP_GUESS_LEAF_SLOTS = 8,
	OP_GUESS_A_STEP = 2,
	OP_GUESS_FRAME_MAX = 1 << 20, /* bytes from sp to the frame record */
};

static __always_inline enum op_next op_guess_begin(struct op_unwind *u)
{
	u->step = OP_STEP_GUESS;
	u->guess.slot = 0;
	u->guess.elsewhere = 0;
	u->guess.fp = 0;
	u->guess.framed = 0;
	u->guess.pc = u->pc;
	u->guess.sp = u->sp;
	u->guess.frame = u->fp;
	u->guess.exact = u->exact;
	u->guess.words = u->out.words;
	return OP_NEXT_CONTINUE;
}

/* No rule leads on from the current frame. If that frame was @guessed, it is not the
 * caller, and the search continues below it. Otherwise its caller is guessed. */
static __always_inline enum op_next op_guess_on(struct op_unwind *u, __u32 guessed)
{
	/* A runtime's frames, and those that were folded, are not taken back. */
	if (guessed != OP_GUESSED_CALLER || u->out.words != u->guess.words + 1)
		return op_guess_begin(u);
	u->step = OP_STEP_GUESS;
	u->pc = u->guess.pc;
	u->sp = u->guess.sp;
	u->fp = u->guess.frame;
	u->exact = u->guess.exact;
	u->guessed = 0;
	u->out.words--;
	u->out.frames--;
	return OP_NEXT_CONTINUE;
}

/* Is there a call before @ra, and did it lead to the code at pc? u has the mapping of
 * @ra. */
static __always_inline enum op_call op_call_before(struct op_unwind *u, __u64 ra)
{
	__u64 code = 0;

	if (op_platform_read(u, &code, sizeof(code), ra - sizeof(code)))
		return OP_CALL_NONE;
	return op_arch_is_call(u, code, ra);
}

/* Is @ra a return address, that is, does a call precede it? */
static __always_inline bool op_is_behind_call(struct op_unwind *u, __u64 ra)
{
	return ra >= OP_PC_MIN && ra < OP_ARCH_USER_END && op_call_before(u, ra);
}

/* Is @ra a return address, and did the call before it lead to the code at pc? Sets u's
 * mapping to that of @ra. */
static __always_inline enum op_call op_is_return_address(struct op_unwind *u, __u64 ra)
{
	if (ra < OP_PC_MIN || ra >= OP_ARCH_USER_END || op_find_mapping(u, ra - 1))
		return OP_CALL_NONE;
	return op_call_before(u, ra);
}

/* Does the word @fp at @at point up the stack, as a saved frame pointer does? */
static __always_inline bool op_is_frame_pointer(__u64 at, __u64 fp)
{
	return fp - at - 1 < OP_GUESS_FRAME_MAX && !(fp & 7);
}

static __always_inline enum op_next op_guess_take(struct op_unwind *u, __u64 sp, __u64 fp,
						  __u64 ra)
{
	u->step = OP_STEP_NATIVE;
	u->sp = sp;
	u->fp = fp;
	u->pc = ra;
	u->exact = 0;
	u->kept_lost = 1;
	u->guessed = OP_GUESSED_CALLER;
	u->guesses++;
	return OP_NEXT_CONTINUE;
}

/*
 * Does the frame record at fp lead to known code, or does fp mark the end of the stack?
 * In @silent code nothing shows that it keeps frame pointers, so the record must also
 * be that of this frame. Code without frame pointers leaves its caller's record in fp,
 * whose return address belongs to a call of that caller. A 0 there may be any value, so
 * the stack ends if no caller is found.
 */
static __always_inline bool op_leads_to_code(struct op_unwind *u, bool silent)
{
	__u64 fp = u->fp;
	__u64 ra = 0;

	if (!fp)
		return !u->exact && !silent;
	if (fp - u->sp > OP_GUESS_FRAME_MAX || (fp & 7) || op_read_stack(u, fp + 8, &ra))
		return false;
	ra = op_arch_code_address(u, ra);
	if (!ra)
		return !silent;
	if (ra < OP_PC_MIN || ra >= OP_ARCH_USER_END || op_find_mapping(u, ra - 1))
		return false;
	return !silent || op_call_before(u, ra) == OP_CALL_HERE;
}

/* Go to the caller by the frame record at fp. Returns false if there is none. */
static __always_inline bool op_guess_frame(struct op_unwind *u)
{
	__u64 fp = u->fp;
	__u64 next = 0;
	__u64 ra = 0;

	if (fp - u->sp > OP_GUESS_FRAME_MAX || (fp & 7) || op_read_stack(u, fp, &next) ||
	    op_read_stack(u, fp + 8, &ra) || (next && next <= fp))
		return false;
	ra = op_arch_code_address(u, ra);
	if (!op_is_return_address(u, ra))
		return false;
	op_guess_take(u, op_arch_sp_after_record(fp, next), next, ra);
	return true;
}

/*
 * The caller's fp, if the return address is at @at: the one that is saved next to it,
 * or fp as it is. If assembly uses fp for other data, it is the last word below @at
 * that looks like a saved fp.
 */
static __always_inline __u64 op_guess_fp(struct op_unwind *u, __u64 at)
{
	__u64 fp = u->fp;

	if (fp + 8 == at)
		op_read_stack(u, fp, &fp);
	else if (!op_is_frame_pointer(at, fp) && u->guess.fp)
		fp = u->guess.fp;
	return fp;
}

/*
 * No word is the return address of a call that leads here. Use the first one of a call
 * that leads elsewhere, because functions also end with jumps.
 */
static __always_inline enum op_next op_guess_end(struct op_unwind *u)
{
	__u64 at = u->sp + (__u64)u->guess.elsewhere * 8;
	__u64 ra = 0;

	if (!u->guess.elsewhere || op_read_stack(u, at - 8, &ra))
		return op_end(u, OP_ERROR_native_no_rule);
	u->guess.elsewhere = 0;
	u->guess.slot = OP_GUESS_SLOTS;
	return op_guess_take(u, at, op_guess_fp(u, at - 8), op_arch_code_address(u, ra));
}

/* Search a few more words of the stack. */
static __always_inline enum op_next op_step_guess(struct op_unwind *u)
{
	__u32 slot = u->guess.slot;
	enum op_call call;
	int i;

	if (slot >= (u->exact ? OP_GUESS_LEAF_SLOTS : 0) && !u->guess.framed) {
		u->guess.framed = 1;
		if (op_guess_frame(u))
			return OP_NEXT_CONTINUE;
	}
	for (i = 0; i < OP_GUESS_A_STEP; i++) {
		__u64 at = u->sp + (__u64)slot * 8;
		__u64 word = 0;
		__u64 ra;

		slot++;
		if (slot > OP_GUESS_SLOTS || op_read_stack(u, at, &word))
			return op_guess_end(u);
		ra = op_arch_code_address(u, word);
		call = op_is_return_address(u, ra);
		u->guess.slot = slot;
		if (call == OP_CALL_HERE)
			return op_guess_take(u, at + 8, op_guess_fp(u, at), ra);
		if (call && !u->guess.elsewhere)
			u->guess.elsewhere = slot;
		if (op_is_frame_pointer(at, word))
			u->guess.fp = word;
	}
	return OP_NEXT_CONTINUE;
}

#endif
