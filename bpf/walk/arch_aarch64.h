/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of the native step that depend on the architecture: aarch64 (AAPCS64; Linux
 * signal frames). */
#ifndef OP_ARCH_H
#define OP_ARCH_H

enum {
	OP_ARCH_KEPT_REG = OP_LEAF_REGS, /* no register is followed from frame to frame */
};

#include "bpf/walk/cfa.h"

#define OP_ARCH_USER_END (1ULL << 56)

enum {
	/* In a signal handler's frame sp points to struct rt_sigframe: siginfo of 128 bytes,
	 * then struct ucontext, whose uc_mcontext begins at 176 with fault_address. */
	OP_ARM64_REGS = 128 + 176 + 8,
	OP_ARM64_REGS_LEN = 33, /* x0 to x30, sp, pc */
	OP_ARM64_FP = 29,
	OP_ARM64_LR = 30,
	/* used if the kernel does not say; nearly all have so many */
	OP_ARM64_ADDRESS_BITS = 48,
};

/*
 * The caller's sp, if this frame's record is at @fp. A record may be at the low end of
 * its frame or in its middle, so it does not give the caller's sp. But in code of gcc
 * the caller's record, at @next_fp, is at the caller's sp. Rules of other compilers use
 * fp.
 */
static __always_inline __u64 op_arch_sp_after_record(__u64 fp, __u64 next_fp)
{
	return next_fp > fp ? next_fp : fp + 16;
}

/* The sp of a Go function with frame pointer @fp that was found by a frame record: Go
 * keeps the record one word below sp. */
static __always_inline __u64 op_arch_go_sp(__u64 sp, __u64 fp)
{
	return fp ? fp + 8 : sp;
}

/* The bits of a code address in a process whose addresses end at @task_size. That is a
 * power of two, of 36 to 52 bits by the kernel's configuration and the CPU. */
static __always_inline __u64 op_arch_code_mask(__u64 task_size)
{
	if (!task_size || (task_size & (task_size - 1)))
		return (1ULL << OP_ARM64_ADDRESS_BITS) - 1;
	return task_size - 1;
}

/* Remove the pointer authentication code from a return address. It is in the bits above
 * those of the process's addresses. */
static __always_inline __u64 op_arch_code_address(const struct op_unwind *u, __u64 ra)
{
	return ra & op_arch_code_mask(u->process.task_size);
}

/* Go to the interrupted frame of a signal: the kernel saved its registers at sp. */
static __always_inline enum op_next op_arch_signal_frame(struct op_unwind *u)
{
	__u64 at = u->sp + OP_ARM64_REGS;
	__u64 last[4]; /* x29, x30, sp, pc */

	if (op_platform_read_stack(u, u->reg, OP_ARM64_FP * 8, at) ||
	    op_platform_read_stack(u, last, sizeof(last), at + OP_ARM64_FP * 8))
		return op_end(u, OP_ERROR_native_read_signal);
	u->fp = last[0];
	u->lr = last[1];
	u->sp = last[2];
	u->pc = last[3];
	u->exact = 1;
	u->window_at = ~0ULL; /* the interrupted stack may be another one */
	return OP_NEXT_CONTINUE;
}

/* Is the 4-byte instruction before @ra a call: BL or BLR, plain or authenticated? */
static __always_inline enum op_call op_arch_is_call(struct op_unwind *u, __u64 code,
						    __u64 ra)
{
	__u32 op = (__u32)(code >> 32);

	(void)u;
	(void)ra;
	if ((op & 0xfc000000) == 0x94000000 || (op & 0xfefff800) == 0xd63f0800 ||
	    (op & 0xfffffc1f) == 0xd63f0000)
		return OP_CALL_HERE;
	return OP_CALL_NONE;
}

/* If the frame record is not there yet or no longer there, the return address is in lr.
 * Elsewhere lr may be old, so fp is followed. */
static __always_inline bool op_arch_is_recordless(struct op_unwind *u, __u64 pc)
{
	(void)u;
	(void)pc;
	return false;
}

/* Go to the caller's frame by @rule. */
static __always_inline enum op_next op_arch_apply(struct op_unwind *u,
						  const struct op_unwind_rule *rule)
{
	__u64 cfa = 0;
	__u64 fp = u->fp;
	__u64 ra = u->lr;
	__u64 at;
	__u32 error = op_find_cfa(u, rule, &cfa);

	if (error)
		return op_end(u, error);
	at = cfa + (__s64)rule->save_off;
	switch (rule->save) {
	case OP_SAVE_PAIR:
		if (op_read_stack(u, at, &fp))
			return op_end(u, OP_ERROR_native_read_fp);
		if (op_read_stack(u, at + 8, &ra))
			return op_end(u, OP_ERROR_native_read_ra);
		break;
	case OP_SAVE_RA:
		if (op_read_stack(u, at, &ra))
			return op_end(u, OP_ERROR_native_read_ra);
		break;
	case OP_SAVE_FP:
	case OP_SAVE_FP_AT_FP:
		if (rule->save == OP_SAVE_FP_AT_FP)
			at = u->fp + (__s64)rule->save_off;
		if (op_read_stack(u, at, &fp))
			return op_end(u, OP_ERROR_native_read_fp);
		if (!u->exact) /* only a leaf's return address is in lr */
			return op_end(u, OP_ERROR_native_leaf_rule);
		break;
	default:
		if (!u->exact)
			return op_end(u, OP_ERROR_native_leaf_rule);
		break;
	}
	ra = op_arch_code_address(u, ra);
	u->sp = cfa;
	u->fp = fp;
	/* after a guess, and at a leaf, it is more likely that the walk went wrong */
	if (!ra)
		return op_end(u, u->guesses | u->exact ? OP_ERROR_native_zero_return
						       : OP_END_COMPLETE);
	u->pc = ra;
	u->exact = 0;
	return OP_NEXT_CONTINUE;
}

#endif
