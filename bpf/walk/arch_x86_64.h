/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the native step needs of x86-64 (System V ABI; Linux signal frames). */
#ifndef OP_ARCH_H
#define OP_ARCH_H

#include "bpf/walk/cfa.h"

#define OP_ARCH_USER_END (1ULL << 56)

enum {
	/* DWARF register numbers, System V ABI AMD64, figure 3.36 */
	OP_X86_RAX = 0,
	OP_X86_RDX,
	OP_X86_RCX,
	OP_X86_RBX,
	OP_X86_RSI,
	OP_X86_RDI,
	OP_X86_RBP,
	OP_X86_RSP,
	OP_X86_R8,
	OP_X86_R9,
	OP_X86_R10,
	OP_X86_R11,
	OP_X86_R12,
	OP_X86_R13,
	OP_X86_R14,
	OP_X86_R15,
	/* in a signal handler's frame sp points to struct ucontext: uc_mcontext.gregs */
	OP_X86_GREGS = 40,
	OP_X86_GREGS_LEN = 17,
};

/* A return address as a code address. */
static __always_inline __u64 op_arch_code_address(const struct op_unwind *u, __u64 ra)
{
	return ra;
}

/* Go to what a signal interrupted: its registers were saved by the kernel at sp. */
static __always_inline enum op_next op_arch_signal_frame(struct op_unwind *u)
{
	__u64 g[OP_X86_GREGS_LEN];

	if (op_platform_read(u, g, sizeof(g), u->sp + OP_X86_GREGS))
		return op_end(u, OP_ERROR_native_read_signal);
	u->reg[OP_X86_R8] = g[0];
	u->reg[OP_X86_R9] = g[1];
	u->reg[OP_X86_R10] = g[2];
	u->reg[OP_X86_R11] = g[3];
	u->reg[OP_X86_R12] = g[4];
	u->reg[OP_X86_R13] = g[5];
	u->reg[OP_X86_R14] = g[6];
	u->reg[OP_X86_R15] = g[7];
	u->reg[OP_X86_RDI] = g[8];
	u->reg[OP_X86_RSI] = g[9];
	u->reg[OP_X86_RBX] = g[11];
	u->reg[OP_X86_RDX] = g[12];
	u->reg[OP_X86_RAX] = g[13];
	u->reg[OP_X86_RCX] = g[14];
	u->fp = g[10];
	u->sp = g[15];
	u->pc = g[16];
	u->exact = 1;
	u->window_at = ~0ULL; /* the interrupted stack may be another one */
	return OP_NEXT_CONTINUE;
}

/* Go to the caller by @rule. */
static __always_inline enum op_next op_arch_apply(struct op_unwind *u,
						  const struct op_rule *rule)
{
	__u64 cfa = 0;
	__u64 ra = 0;
	__u64 fp = u->fp;
	__u32 error = op_find_cfa(u, rule, &cfa);

	if (error)
		return op_end(u, error);
	if (rule->save == OP_SAVE_RA_REG) {
		if (!u->exact)
			return op_end(u, OP_ERROR_native_leaf_rule);
		ra = u->reg[rule->save_off & (OP_LEAF_REGS - 1)];
	} else if (op_read_stack(u, cfa - 8, &ra)) {
		return op_end(u, OP_ERROR_native_read_ra);
	}
	if (rule->save == OP_SAVE_FP || rule->save == OP_SAVE_FP_AT_FP) {
		__u64 at =
			(rule->save == OP_SAVE_FP ? cfa : u->fp) + (__s64)rule->save_off;

		if (op_read_stack(u, at, &fp))
			return op_end(u, OP_ERROR_native_read_fp);
	}
	u->sp = cfa;
	u->fp = fp;
	if (!ra) /* the end of a stack whose first frame has no STOP rule */
		return op_end(u, OP_END_COMPLETE);
	u->pc = ra;
	u->exact = 0;
	return OP_NEXT_CONTINUE;
}

#endif
