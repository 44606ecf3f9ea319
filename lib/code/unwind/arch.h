/* SPDX-License-Identifier: Apache-2.0 */
/* Turns rows of call frame information into unwind rules, by the ABI of the file's
 * machine. */
#ifndef OP_CODE_UNWIND_ARCH_H
#define OP_CODE_UNWIND_ARCH_H

#include <stdbool.h>
#include <string.h>

#include "code/dwarf/cfi.h"
#include "op_user_types.h"

/* Returns true and *@ret; or false, and leaves *@ret untouched, if no rule can express
 * the row. */
typedef bool (*op_arch_rule_fn)(const struct op_cfi_state *state,
				struct op_unwind_rule *ret);

bool op_arch_x86_64_rule(const struct op_cfi_state *state, struct op_unwind_rule *ret);
enum {
	OP_ARCH_X86_64_KEPT = 3, /* rbx */
};

/* The same. The rule also says where state.kept is saved. */
bool op_arch_x86_64_rule_keeping(const struct op_cfi_state *state,
				 struct op_unwind_rule *ret);
bool op_arch_aarch64_rule(const struct op_cfi_state *state, struct op_unwind_rule *ret);

/*
 * Is it the row of the code to which a signal handler returns, which stands for the
 * kernel's signal frame (OP_CFA_SIGNAL)? Other FDEs have augmentation 'S', too (OCaml's
 * runtime, Wine's system calls). It only means that the address at which they were left
 * is not behind a call.
 */
bool op_arch_is_signal_frame(uint16_t machine, const struct op_cfi_state *state);

/* The parts of a rule before they are joined. Their wide fields let the compiler keep
 * them in registers. */
struct op_arch_parts {
	uint32_t cfa;
	uint32_t save;
	int32_t save_off;
	int32_t cfa_off;
};

/* Join the parts to a rule with one store: the rule is read as one word right after, and
 * that load would stall on stores of single bytes. (Hosts are little-endian.) */
static inline struct op_unwind_rule op_arch_join(struct op_arch_parts parts)
{
	uint64_t word = parts.cfa | parts.save << 8 | (uint32_t)parts.save_off << 16 |
			(uint64_t)(uint32_t)parts.cfa_off << 32;
	struct op_unwind_rule rule;

	memcpy(&rule, &word, sizeof(rule));
	return rule;
}

/* The rest of op_arch_cfa(): a CFA that is not an offset from sp or fp, which it nearly
 * always is. */
bool op_arch_other_cfa(const struct op_cfi_state *state, uint16_t sp, uint16_t fp,
		       struct op_arch_parts *ret);

/* Is the caller's sp equal to the CFA? A rule cannot express other values. */
static inline bool op_arch_sp_is_cfa(const struct op_cfi_value *sp)
{
	return sp->how == OP_CFI_UNSET || (sp->how == OP_CFI_IS_CFA && sp->off == 0);
}

/* The CFA for either ABI; @sp and @fp are the DWARF numbers of these registers. It is
 * inline because it runs for each row. */
static inline bool op_arch_cfa(const struct op_cfi_state *state, uint16_t sp, uint16_t fp,
			       struct op_arch_parts *ret)
{
	const struct op_cfi_value *cfa = &state->cfa;
	/* a copy, so that *@ret can stay in registers */
	struct op_arch_parts other = *ret;

	if (cfa->how == OP_CFI_IS_REG && (cfa->reg == sp || cfa->reg == fp) &&
	    cfa->off == (int32_t)cfa->off && op_arch_sp_is_cfa(&state->sp)) {
		ret->cfa = cfa->reg == sp ? OP_CFA_SP : OP_CFA_FP;
		ret->cfa_off = (int32_t)cfa->off;
		return true;
	}
	if (!op_arch_other_cfa(state, sp, fp, &other))
		return false;
	*ret = other;
	return true;
}

#endif
