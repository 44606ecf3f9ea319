/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The height of the stack at a pc of x86-64 code: where the return address and the
 * caller's frame pointer are, if known, and how an instruction changes that.
 */
#ifndef OP_CODE_UNWIND_HEIGHTS_STACK_H
#define OP_CODE_UNWIND_HEIGHTS_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "code/unwind/heights/instruction.h"
#include "op_user_types.h"

enum {
	OP_CODE_STACK_WORD = 8, /* bytes */
	OP_CODE_STACK_KEPT = 3, /* number of rbx in rules: followed from frame to frame */
};

#define OP_CODE_STACK_UNKNOWN INT32_MIN

/* What is known of a frame whose address is not, because sp was aligned or moved by a
 * register. */
enum op_code_stack_base {
	OP_CODE_STACK_NO_BASE,
	OP_CODE_STACK_FP_PUSHED, /* the caller's fp is at sp */
	OP_CODE_STACK_FP_BASE,	 /* fp points to it */
};

/* The positions of values at a pc. All but `slot`, `drop` and `fp_slot` are distances
 * below the CFA. */
struct op_code_stack {
	int32_t sp;
	int32_t fp;    /* the address that fp holds; UNKNOWN: fp is no frame pointer */
	int32_t saved; /* the caller's fp; 0: it was not saved */
	int32_t copy;  /* the address that copy_reg holds, or UNKNOWN */
	int32_t slot; /* the word at sp + slot holds the address slot_holds; or UNKNOWN */
	int32_t slot_holds;
	int32_t drop;	 /* with FP_BASE: sp is at fp - drop, or UNKNOWN */
	int32_t fp_slot; /* the word at fp + fp_slot holds slot_holds; or UNKNOWN */
	uint8_t copy_reg;
	uint8_t base;	/* enum op_code_stack_base */
	bool outermost; /* fp was cleared, and not saved before: nothing called this */
	/* the caller's rbx: OP_SAVE_KEPT_SAME, it is in rbx; else words below the CFA; 0: lost */
	uint8_t kept;
};

/* The state at a function's first instruction. */
static const struct op_code_stack OP_CODE_STACK_ENTRY = { .sp = OP_CODE_STACK_WORD,
							  .fp = OP_CODE_STACK_UNKNOWN,
							  .copy = OP_CODE_STACK_UNKNOWN,
							  .slot = OP_CODE_STACK_UNKNOWN,
							  .drop = OP_CODE_STACK_UNKNOWN,
							  .fp_slot =
								  OP_CODE_STACK_UNKNOWN,
							  .kept = OP_SAVE_KEPT_SAME };

/* The state at a place where nothing is known. */
static const struct op_code_stack OP_CODE_STACK_LOST = { .sp = OP_CODE_STACK_UNKNOWN,
							 .fp = OP_CODE_STACK_UNKNOWN,
							 .copy = OP_CODE_STACK_UNKNOWN,
							 .slot = OP_CODE_STACK_UNKNOWN,
							 .drop = OP_CODE_STACK_UNKNOWN,
							 .fp_slot =
								 OP_CODE_STACK_UNKNOWN };

/* Are no words pushed, as at a function's first instruction? */
static inline bool op_code_stack_is_entry(const struct op_code_stack *s)
{
	return s->sp == OP_CODE_STACK_WORD && !s->saved &&
	       s->fp == OP_CODE_STACK_UNKNOWN && !s->outermost;
}

/* The registers that matter to *@s, a bit for each. */
static inline uint32_t op_code_stack_regs(const struct op_code_stack *s)
{
	uint32_t copy = s->copy != OP_CODE_STACK_UNKNOWN;

	return 1u << OP_INSN_BX | 1u << OP_INSN_FP | copy << s->copy_reg;
}

/* Does @insn certainly leave *@s as it is? Most instructions do. */
static inline bool op_code_stack_ignores(const struct op_code_stack *s,
					 const struct op_insn *insn)
{
	const uint32_t kinds = 1u << OP_INSN_OTHER | 1u << OP_INSN_PAD |
			       1u << OP_INSN_JUMP | 1u << OP_INSN_JUMP_IF |
			       1u << OP_INSN_JUMP_FAR | 1u << OP_INSN_RETURN;
	const uint32_t calls = 1u << OP_INSN_CALL | 1u << OP_INSN_CALL_FAR;
	bool copied = s->copy != OP_CODE_STACK_UNKNOWN;

	return (kinds | (copied ? 0 : calls)) >> insn->kind & 1 &&
	       !(insn->regs & op_code_stack_regs(s));
}

/* Apply @insn to *@s, if it does not jump. */
void op_code_stack_apply(struct op_code_stack *s, const struct op_insn *insn);

/* The rule for this state, with OP_SAVE_CHECK, or OP_CFA_STOP; or @none. @keep: the
 * rule includes where the caller's rbx is. */
struct op_unwind_rule op_code_stack_rule(const struct op_code_stack *s, bool keep,
					 struct op_unwind_rule none);

#endif
