/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The height of the stack at a pc of x86-64 code, and how an instruction changes it:
 * where the return address and the caller's frame pointer are, as far as that is known.
 */
#ifndef OP_CODE_UNWIND_HEIGHTS_STACK_H
#define OP_CODE_UNWIND_HEIGHTS_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "code/unwind/heights/instruction.h"
#include "op_user_types.h"

enum {
	OP_CODE_STACK_WORD = 8, /* bytes */
};

#define OP_CODE_STACK_UNKNOWN INT32_MIN

/* The positions of values at a pc. All but `slot` are distances below the CFA. */
struct op_code_stack {
	int32_t sp;
	int32_t fp;    /* the address that fp holds; UNKNOWN: fp is no frame pointer */
	int32_t saved; /* the caller's fp; 0: it was not saved */
	int32_t copy;  /* the address that copy_reg holds, or UNKNOWN */
	int32_t slot; /* the word at sp + slot holds the address slot_holds; or UNKNOWN */
	int32_t slot_holds;
	uint8_t copy_reg;
};

/* The state at a function's first instruction. */
static const struct op_code_stack OP_CODE_STACK_ENTRY = { .sp = OP_CODE_STACK_WORD,
							  .fp = OP_CODE_STACK_UNKNOWN,
							  .copy = OP_CODE_STACK_UNKNOWN,
							  .slot = OP_CODE_STACK_UNKNOWN };

/* That of a place where nothing is known. */
static const struct op_code_stack OP_CODE_STACK_LOST = { .sp = OP_CODE_STACK_UNKNOWN,
							 .fp = OP_CODE_STACK_UNKNOWN,
							 .copy = OP_CODE_STACK_UNKNOWN,
							 .slot = OP_CODE_STACK_UNKNOWN };

/* Is nothing pushed, as at a function's first instruction? */
static inline bool op_code_stack_is_entry(const struct op_code_stack *s)
{
	return s->sp == OP_CODE_STACK_WORD && !s->saved && s->fp == OP_CODE_STACK_UNKNOWN;
}

/* Change *@s as @insn changes the stack, if it does not jump. */
void op_code_stack_apply(struct op_code_stack *s, const struct op_insn *insn);

/* The rule for this state, with OP_SAVE_CHECK; or @none. */
struct op_unwind_rule op_code_stack_rule(const struct op_code_stack *s,
					 struct op_unwind_rule none);

#endif
