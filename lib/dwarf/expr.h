/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF expressions of call frame information, recognised by what they compute: they are
 * evaluated over symbols (a register plus a number, memory at that, the CFA), so any way
 * of writing r + off or *(r + off) + add is known.
 */
#ifndef OP_DWARF_EXPR_H
#define OP_DWARF_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/cfi.h"

/*
 * What the expression in @bytes computes: IS_REG, AT_REG, PLT, IS_CFA or AT_CFA, else
 * COMPLEX. @has_cfa: the CFA is on the stack first (the rule of a register).
 */
struct op_cfi_value op_dwarf_expr_value(const uint8_t *bytes, size_t len, bool has_cfa);

#endif
