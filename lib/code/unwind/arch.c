/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/arch.h"

#include <elf.h>

enum {
	/* DWARF numbers, and offsets from sp in x86-64's struct rt_sigframe. The return
	 * of the handler has popped its first word. */
	X86_SP = 7,
	X86_SIGNAL_SP = 160,
	X86_SIGNAL_IP = 168,
	/* before Linux 5.8 aarch64's vDSO has a row: the frame record at x29 */
	ARM_FP = 29,
	ARM_RECORD_LR = 8,
	REG_OFF_MAX = (1 << 23) - 1, /* OP_CFA_REG has 24 bits for the offset */
};

static bool fits16(int64_t v)
{
	return v >= INT16_MIN && v <= INT16_MAX;
}

static bool reg_cfa(const struct op_cfi_value *cfa, struct op_arch_parts *ret)
{
	if (cfa->reg >= OP_LEAF_REGS || cfa->off < -REG_OFF_MAX || cfa->off > REG_OFF_MAX)
		return false;
	ret->cfa = OP_CFA_REG;
	ret->cfa_off = (int32_t)(((uint32_t)cfa->off << 8) | cfa->reg);
	return true;
}

bool op_arch_other_cfa(const struct op_cfi_state *state, uint16_t sp, uint16_t fp,
		       struct op_arch_parts *ret)
{
	const struct op_cfi_value *cfa = &state->cfa;

	if (!op_arch_sp_is_cfa(&state->sp))
		return false;
	switch (cfa->how) {
	case OP_CFI_IS_REG:
		return cfa->reg != sp && cfa->reg != fp && reg_cfa(cfa, ret);
	case OP_CFI_AT_REG:
		if ((cfa->reg != sp && cfa->reg != fp) || !fits16(cfa->off) ||
		    !fits16(cfa->add))
			return false;
		ret->cfa = cfa->reg == sp ? OP_CFA_DEREF_SP : OP_CFA_DEREF_FP;
		ret->cfa_off = (int32_t)(((uint32_t)cfa->add << 16) |
					 ((uint32_t)cfa->off & 0xffff));
		return true;
	default:
		return false;
	}
}

static bool is_loaded(const struct op_cfi_value *v, uint16_t reg, int64_t off)
{
	return v->how == OP_CFI_AT_REG && v->reg == reg && v->off == off && !v->add;
}

bool op_arch_is_signal_frame(uint16_t machine, const struct op_cfi_state *state)
{
	const struct op_cfi_value *cfa = &state->cfa;

	if (machine == EM_X86_64)
		return is_loaded(cfa, X86_SP, X86_SIGNAL_SP) &&
		       is_loaded(&state->ra, X86_SP, X86_SIGNAL_IP);
	return machine == EM_AARCH64 && cfa->how == OP_CFI_IS_REG && cfa->reg == ARM_FP &&
	       !cfa->off && state->ra.how == OP_CFI_AT_CFA &&
	       state->ra.off == ARM_RECORD_LR;
}
