/* SPDX-License-Identifier: Apache-2.0 */
/* AAPCS64: the return address is in lr until it is saved, mostly beside fp. */
#include "code/unwind/arch.h"

enum {
	FP = 29,
	LR = 30,
	SP = 31,
	PAIR_BYTES = 8, /* from the saved fp to the saved lr */
};

/* Does the register still hold the caller's value? */
static bool unchanged(const struct op_cfi_value *v, uint16_t reg)
{
	return v->how == OP_CFI_UNSET || v->how == OP_CFI_SAME ||
	       (v->how == OP_CFI_IS_REG && v->reg == reg && v->off == 0);
}

static bool save_at(struct op_arch_parts *ret, enum op_save save, int64_t off)
{
	if (off < INT16_MIN || off > INT16_MAX)
		return false;
	ret->save = save;
	ret->save_off = (int32_t)off;
	return true;
}

static bool save(const struct op_cfi_state *state, struct op_arch_parts *ret)
{
	const struct op_cfi_value *fp = &state->fp;
	const struct op_cfi_value *ra = &state->ra;
	bool fp_same = unchanged(fp, FP) || fp->how == OP_CFI_UNDEFINED;

	if (unchanged(ra, LR)) {
		if (fp_same)
			return save_at(ret, OP_SAVE_NONE, 0);
		if (fp->how == OP_CFI_AT_CFA)
			return save_at(ret, OP_SAVE_FP, fp->off);
		return fp->how == OP_CFI_AT_REG && fp->reg == FP && !fp->add &&
		       save_at(ret, OP_SAVE_FP_AT_FP, fp->off);
	}
	if (ra->how == OP_CFI_AT_CFA) {
		if (fp_same)
			return save_at(ret, OP_SAVE_RA, ra->off);
		return fp->how == OP_CFI_AT_CFA && ra->off == fp->off + PAIR_BYTES &&
		       save_at(ret, OP_SAVE_PAIR, fp->off);
	}
	return ra->how == OP_CFI_IS_REG && !ra->off && ra->reg < OP_LEAF_REGS &&
	       fp_same && save_at(ret, OP_SAVE_RA_REG, ra->reg);
}

bool op_arch_aarch64_rule(const struct op_cfi_state *state, struct op_unwind_rule *ret)
{
	struct op_arch_parts rule = { 0 };

	if (state->ra.how == OP_CFI_UNDEFINED) {
		*ret = (struct op_unwind_rule){ .cfa = OP_CFA_STOP };
		return true;
	}
	if (!save(state, &rule) || !op_arch_cfa(state, SP, FP, &rule))
		return false;
	*ret = op_arch_join(rule);
	return true;
}
