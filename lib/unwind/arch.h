/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of call frame information as unwind rules, by the ABI of the file's machine. */
#ifndef OP_UNWIND_ARCH_H
#define OP_UNWIND_ARCH_H

#include <stdbool.h>

#include "dwarf/cfi.h"
#include "op_user_types.h"

/* Returns true and *@ret; false where no rule says it, and *@ret is untouched. */
typedef bool (*op_arch_rule_fn)(const struct op_cfi_state *state, struct op_rule *ret);

bool op_arch_x86_64_rule(const struct op_cfi_state *state, struct op_rule *ret);
bool op_arch_aarch64_rule(const struct op_cfi_state *state, struct op_rule *ret);

/* The CFA of either ABI: @sp and @fp are their DWARF register numbers. */
bool op_arch_cfa(const struct op_cfi_state *state, uint16_t sp, uint16_t fp,
		 struct op_rule *ret);

#endif
