/* SPDX-License-Identifier: Apache-2.0 */
/* System V ABI, AMD64 supplement: the return address is at CFA - 8. */
#include "code/unwind/arch.h"

enum {
	FP = 6, /* rbp */
	SP = 7, /* rsp */
	RA_OFF = -8,
	PLT_OFF = 8,
};

/* The caller's fp is not at an offset from the CFA. */
static bool save_fp_elsewhere(const struct op_cfi_value *fp, struct op_arch_parts *ret)
{
	if (fp->how == OP_CFI_IS_REG) /* rbp + 0 is a way to say "same" */
		return fp->reg == FP && fp->off == 0;
	if (fp->how != OP_CFI_AT_REG || fp->reg != FP || fp->add ||
	    fp->off != (int16_t)fp->off)
		return false;
	ret->save = OP_SAVE_FP_AT_FP;
	ret->save_off = (int32_t)fp->off;
	return true;
}

/* There is no branch between saved and not saved, because that changes from row to row.
 * An undefined fp, as in outermost frames, is not needed. */
static bool save_fp(const struct op_cfi_value *fp, struct op_arch_parts *ret)
{
	struct op_arch_parts elsewhere = { 0 };

	_Static_assert(OP_CFI_UNSET < OP_CFI_AT_CFA && OP_CFI_SAME < OP_CFI_AT_CFA &&
			       OP_CFI_UNDEFINED < OP_CFI_AT_CFA,
		       "those before it say that fp is not saved, and have no offset");
	if (fp->how <= OP_CFI_AT_CFA && fp->off == (int16_t)fp->off) {
		ret->save = fp->how == OP_CFI_AT_CFA ? OP_SAVE_FP : OP_SAVE_NONE;
		ret->save_off = (int32_t)fp->off;
		return true;
	}
	if (!save_fp_elsewhere(fp, &elsewhere))
		return false;
	*ret = elsewhere;
	return true;
}

static bool find_ra(const struct op_cfi_value *ra, struct op_arch_parts *ret)
{
	if (ra->how == OP_CFI_AT_CFA)
		return ra->off == RA_OFF;
	/* __vfork of glibc pops the return address into a register; fp must be unchanged
	 * there. */
	if (ra->how != OP_CFI_IS_REG || ra->off || ra->reg >= OP_LEAF_REGS ||
	    ret->save != OP_SAVE_NONE)
		return false;
	ret->save = OP_SAVE_RA_REG;
	ret->save_off = ra->reg;
	return true;
}

bool op_arch_x86_64_rule(const struct op_cfi_state *state, struct op_unwind_rule *ret)
{
	struct op_arch_parts rule = { 0 };

	if (state->ra.how == OP_CFI_UNDEFINED) {
		*ret = (struct op_unwind_rule){ .cfa = OP_CFA_STOP };
		return true;
	}
	if (!save_fp(&state->fp, &rule) || !find_ra(&state->ra, &rule))
		return false;
	if (state->cfa.how == OP_CFI_PLT && state->cfa.off == PLT_OFF &&
	    state->sp.how == OP_CFI_UNSET && rule.save == OP_SAVE_NONE) {
		rule.cfa = OP_CFA_PLT;
		rule.cfa_off = (int32_t)state->cfa.add;
	} else if (!op_arch_cfa(state, SP, FP, &rule)) {
		return false;
	}
	*ret = op_arch_join(rule);
	return true;
}

/* The value for OP_SAVE_KEPT_*. Registers are pushed at a function's start, so the 14
 * words below the CFA are enough. */
static uint32_t kept_at(const struct op_cfi_value *kept)
{
	if (kept->how == OP_CFI_UNSET || kept->how == OP_CFI_SAME)
		return OP_SAVE_KEPT_SAME;
	if (kept->how != OP_CFI_AT_CFA || kept->off >= 0 || kept->off % 8 ||
	    kept->off <= -8 * OP_SAVE_KEPT_SAME)
		return 0;
	return (uint32_t)(kept->off / -8);
}

bool op_arch_x86_64_rule_keeping(const struct op_cfi_state *state,
				 struct op_unwind_rule *ret)
{
	if (!op_arch_x86_64_rule(state, ret))
		return false;
	ret->save |= (uint8_t)(kept_at(&state->kept) << OP_SAVE_KEPT_SHIFT);
	return true;
}
