/* SPDX-License-Identifier: Apache-2.0 */
/* System V ABI, AMD64 supplement: the return address is at CFA - 8. */
#include "unwind/arch.h"

enum {
	FP = 6, /* rbp */
	SP = 7, /* rsp */
	RA_OFF = -8,
	PLT_OFF = 8,
};

static bool save_fp(const struct op_cfi_value *fp, struct op_arch_parts *ret)
{
	switch (fp->how) {
	case OP_CFI_UNSET:
	case OP_CFI_SAME:
	case OP_CFI_UNDEFINED: /* as the outermost frames say: nobody needs it */
		ret->save = OP_SAVE_NONE;
		return true;
	case OP_CFI_AT_CFA:
		ret->save = OP_SAVE_FP;
		break;
	case OP_CFI_AT_REG:
		if (fp->reg != FP || fp->add)
			return false;
		ret->save = OP_SAVE_FP_AT_FP;
		break;
	case OP_CFI_IS_REG: /* rbp + 0 is a way to say "same" */
		ret->save = OP_SAVE_NONE;
		return fp->reg == FP && fp->off == 0;
	default:
		return false;
	}
	if (fp->off < INT16_MIN || fp->off > INT16_MAX)
		return false;
	ret->save_off = (int32_t)fp->off;
	return true;
}

static bool find_ra(const struct op_cfi_value *ra, struct op_arch_parts *ret)
{
	if (ra->how == OP_CFI_AT_CFA)
		return ra->off == RA_OFF;
	/* As of __vfork in glibc, which pops it; there fp must be unchanged. */
	if (ra->how != OP_CFI_IS_REG || ra->off || ra->reg >= OP_LEAF_REGS ||
	    ret->save != OP_SAVE_NONE)
		return false;
	ret->save = OP_SAVE_RA_REG;
	ret->save_off = ra->reg;
	return true;
}

bool op_arch_x86_64_rule(const struct op_cfi_state *state, struct op_rule *ret)
{
	struct op_arch_parts rule = { 0 };

	if (state->ra.how == OP_CFI_UNDEFINED) {
		*ret = (struct op_rule){ .cfa = OP_CFA_STOP };
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
