/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluates DWARF expressions of call frame information over symbols (a register plus a
 * number, the memory at such an address, the CFA). So every way of writing r + off or *(r
 * + off) + add is recognised.
 */
#ifndef OP_CODE_DWARF_EXPR_H
#define OP_CODE_DWARF_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/dwarf/cfi.h"

/* The value of the expression in @bytes: IS_REG, AT_REG, PLT, IS_CFA or AT_CFA, else
 * COMPLEX. @has_cfa: the CFA is on the stack initially (in the rule of a register). */
struct op_cfi_value op_dwarf_expr_value(const uint8_t *bytes, size_t len, bool has_cfa);

#endif
