/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The canonical frame address (CFA), for the kinds of rules that both architectures
 * share. */
#ifndef OP_CFA_H
#define OP_CFA_H

#include "bpf/walk/unwind.h"

/* The includer defines OP_ARCH_KEPT_REG, the register that is followed from frame to
 * frame. */

/* Compute the CFA by @rule. Returns 0 or an error. */
static __always_inline __u32 op_find_cfa(struct op_unwind *u,
					 const struct op_unwind_rule *rule, __u64 *ret)
{
	__s32 off = rule->cfa_off;
	__u64 at;

	switch (rule->cfa) {
	case OP_CFA_SP:
		*ret = u->sp + (__s64)(off & ~OP_CFA_SP_EXACT);
		return 0;
	case OP_CFA_FP:
		*ret = u->fp + (__s64)off;
		return 0;
	case OP_CFA_DEREF_SP:
	case OP_CFA_DEREF_FP:
		at = (rule->cfa == OP_CFA_DEREF_SP ? u->sp : u->fp) + (__s64)(__s16)off;
		if (op_read_stack(u, at, ret))
			return OP_ERROR_native_read_cfa;
		*ret += (__s64)(off >> 16);
		return 0;
	case OP_CFA_PLT:
		*ret = u->sp + 8 + ((__s32)(u->pc & 15) >= off ? 8 : 0);
		return 0;
	case OP_CFA_REG:
		if (!u->exact && ((off & 255) != OP_ARCH_KEPT_REG || u->kept_lost))
			return OP_ERROR_native_leaf_rule;
		*ret = u->reg[off & (OP_LEAF_REGS - 1)] + (__s64)(off >> 8);
		return 0;
	default:
		return OP_ERROR_native_no_rule;
	}
}

#endif
