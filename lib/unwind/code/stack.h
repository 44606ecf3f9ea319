/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How high the stack is at a pc of x86-64 code, and what an instruction changes in that:
 * where the return address and the caller's frame pointer stand, as far as it is known.
 */
#ifndef OP_UNWIND_CODE_STACK_H
#define OP_UNWIND_CODE_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "op_user_types.h"
#include "unwind/code/instruction.h"

enum {
	OP_CODE_STACK_WORD = 8, /* bytes */
};

#define OP_CODE_STACK_UNKNOWN INT32_MIN

/* Where things are at a pc. All but `slot` are distances down from the CFA. */
struct op_code_stack {
	int32_t sp;
	int32_t fp;    /* of the address that fp holds; UNKNOWN: fp is no frame pointer */
	int32_t saved; /* of the caller's fp; 0: it was not saved */
	int32_t copy;  /* of the address that copy_reg holds, or UNKNOWN */
	int32_t slot;  /* a word at sp + slot holds an address, or UNKNOWN */
	int32_t slot_holds;
	uint8_t copy_reg;
};

/* At a function's first instruction. */
static const struct op_code_stack OP_CODE_STACK_ENTRY = { .sp = OP_CODE_STACK_WORD,
							  .fp = OP_CODE_STACK_UNKNOWN,
							  .copy = OP_CODE_STACK_UNKNOWN,
							  .slot = OP_CODE_STACK_UNKNOWN };

/* Is nothing pushed, as there? */
static inline bool op_code_stack_is_entry(const struct op_code_stack *s)
{
	return s->sp == OP_CODE_STACK_WORD && !s->saved && s->fp == OP_CODE_STACK_UNKNOWN;
}

/* What @insn, which does not jump, leaves. */
void op_code_stack_apply(struct op_code_stack *s, const struct op_insn *insn);

/* The rule that says so, to be checked by the walk; or @none. */
struct op_rule op_code_stack_rule(const struct op_code_stack *s, struct op_rule none);

#endif
