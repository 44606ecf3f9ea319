/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/heights/stack.h"

enum {
	WORD = OP_CODE_STACK_WORD,
	FRAME_MAX = 1 << 24, /* bytes */
	SAVED_MAX = INT16_MAX,
};

#define UNKNOWN OP_CODE_STACK_UNKNOWN

static void move_sp(struct op_code_stack *s, int64_t bytes)
{
	int64_t sp = s->sp - bytes;
	int64_t slot = s->slot - bytes;
	int64_t drop = s->drop - bytes;

	if (s->sp != UNKNOWN)
		s->sp = sp > -FRAME_MAX && sp < FRAME_MAX ? (int32_t)sp : UNKNOWN;
	if (s->slot != UNKNOWN)
		s->slot = slot >= 0 && slot < FRAME_MAX ? (int32_t)slot : UNKNOWN;
	if (s->base == OP_CODE_STACK_FP_PUSHED)
		s->base = OP_CODE_STACK_NO_BASE;
	if (s->drop != UNKNOWN)
		s->drop = drop > -FRAME_MAX && drop < FRAME_MAX ? (int32_t)drop : UNKNOWN;
}

static void set_sp(struct op_code_stack *s, int32_t base, int64_t bytes)
{
	s->sp = base;
	s->slot = s->drop = UNKNOWN;
	move_sp(s, bytes);
}

/* The word at sp + @at gets the value of register @reg. If that is a copy of sp, note
 * it. */
static void keep_copy(struct op_code_stack *s, uint8_t reg, int64_t at)
{
	int32_t holds = reg == OP_INSN_FP ? s->fp : s->copy;

	if (holds == UNKNOWN || (reg != OP_INSN_FP && reg != s->copy_reg))
		return;
	s->slot = (int32_t)at;
	s->slot_holds = holds;
	if (s->base == OP_CODE_STACK_FP_BASE && s->drop != UNKNOWN)
		s->fp_slot = (int32_t)at - s->drop;
}

/* @reg was loaded from the word that holds a copy of sp. */
static void copy_back(struct op_code_stack *s, uint8_t reg)
{
	if (reg == OP_INSN_FP) {
		if (s->saved)
			s->fp = s->slot_holds;
		return;
	}
	s->copy_reg = reg;
	s->copy = s->slot_holds;
}

/* The word @below the CFA now holds rbx. */
static void keep_rbx(struct op_code_stack *s, uint8_t reg, int64_t below)
{
	if (reg == OP_INSN_BX && s->kept == OP_SAVE_KEPT_SAME && below > WORD &&
	    below % WORD == 0 && below / WORD < OP_SAVE_KEPT_SAME)
		s->kept = (uint8_t)(below / WORD);
}

static void push(struct op_code_stack *s, uint8_t reg)
{
	bool saves = reg == OP_INSN_FP && !s->saved && s->fp == UNKNOWN;

	move_sp(s, -WORD);
	keep_copy(s, reg, 0);
	keep_rbx(s, reg, s->sp);
	if (!saves)
		return;
	if (s->sp != UNKNOWN)
		s->saved = s->sp;
	else if (s->base == OP_CODE_STACK_NO_BASE)
		s->base = OP_CODE_STACK_FP_PUSHED;
}

/* The caller's fp is in fp again. */
static void restore_fp(struct op_code_stack *s)
{
	s->fp = UNKNOWN;
	s->base = OP_CODE_STACK_NO_BASE;
	s->drop = s->fp_slot = UNKNOWN;
}

static void pop(struct op_code_stack *s, uint8_t reg)
{
	if (reg == OP_INSN_SP) {
		set_sp(s, UNKNOWN, 0);
		return;
	}
	if (s->slot == 0)
		copy_back(s, reg);
	if (reg == OP_INSN_BX && s->kept * WORD == s->sp)
		s->kept = OP_SAVE_KEPT_SAME;
	if (reg == OP_INSN_FP) {
		if (s->saved == s->sp)
			s->saved = 0;
		restore_fp(s);
	}
	move_sp(s, WORD);
}

static void copy_sp(struct op_code_stack *s, uint8_t reg, int64_t bytes)
{
	int64_t at = s->sp - bytes;

	if (reg == OP_INSN_FP && s->base == OP_CODE_STACK_FP_PUSHED && !bytes) {
		s->base = OP_CODE_STACK_FP_BASE;
		s->drop = 0;
		return;
	}
	if (s->sp == UNKNOWN || at < -FRAME_MAX || at > FRAME_MAX)
		return;
	if (reg == OP_INSN_FP) {
		if (s->saved)
			s->fp = (int32_t)at;
		return;
	}
	s->copy_reg = reg;
	s->copy = (int32_t)at;
}

static void store(struct op_code_stack *s, uint8_t reg, int64_t at)
{
	int64_t below = s->sp - at;

	if (at < 0 || at >= FRAME_MAX)
		return;
	keep_copy(s, reg, at);
	if (s->sp != UNKNOWN)
		keep_rbx(s, reg, below);
	if (reg == OP_INSN_FP && s->sp != UNKNOWN && !s->saved && s->fp == UNKNOWN &&
	    below > WORD && below <= SAVED_MAX)
		s->saved = (int32_t)below;
}

static void load(struct op_code_stack *s, uint8_t reg, int64_t at)
{
	if (reg == OP_INSN_FP && s->saved && s->sp != UNKNOWN && s->saved == s->sp - at) {
		s->saved = 0;
		s->fp = UNKNOWN;
	}
	if (reg == OP_INSN_BX && s->sp != UNKNOWN && s->kept * WORD == s->sp - at)
		s->kept = OP_SAVE_KEPT_SAME;
	if (s->slot != UNKNOWN && s->slot == at)
		copy_back(s, reg);
}

static void set_sp_by(struct op_code_stack *s, uint8_t reg, int64_t bytes)
{
	if (reg == OP_INSN_FP && s->fp != UNKNOWN)
		set_sp(s, s->fp, bytes);
	else if (reg == s->copy_reg && s->copy != UNKNOWN)
		set_sp(s, s->copy, bytes);
	else
		set_sp(s, UNKNOWN, 0);
	if (reg == OP_INSN_FP && s->base == OP_CODE_STACK_FP_BASE)
		s->drop = (int32_t)-bytes;
}

static void leave(struct op_code_stack *s)
{
	set_sp(s, s->fp, WORD);
	restore_fp(s);
	s->saved = 0;
}

/* fp is cleared. Where it was not saved before, and nothing else is pushed, no caller needs it. */
static void clear_fp(struct op_code_stack *s)
{
	s->outermost |= op_code_stack_is_entry(s);
	if (s->fp != s->saved)
		s->fp = UNKNOWN;
}

void op_code_stack_apply(struct op_code_stack *s, const struct op_insn *i)
{
	bool copies = i->kind == OP_INSN_COPY_SP || i->kind == OP_INSN_STORE ||
		      i->kind == OP_INSN_PUSH || i->kind == OP_INSN_SET_SP;

	if (i->regs >> s->copy_reg & 1 && !copies)
		s->copy = UNKNOWN;
	if (s->kept == OP_SAVE_KEPT_SAME &&
	    ((i->regs >> OP_INSN_BX & 1 && i->kind == OP_INSN_OTHER) ||
	     (i->reg == OP_INSN_BX && i->kind == OP_INSN_COPY_SP)))
		s->kept = 0;
	/* Unless fp points to the saved fp, it holds data: after a write its value is
	 * not known. */
	if (i->regs >> OP_INSN_FP & 1 && i->kind == OP_INSN_OTHER && s->fp != s->saved)
		s->fp = UNKNOWN;
	if (i->kind == OP_INSN_SET_SP || i->kind == OP_INSN_AND_SP)
		s->base = s->base == OP_CODE_STACK_FP_BASE ? s->base
							   : OP_CODE_STACK_NO_BASE;
	switch (i->kind) {
	case OP_INSN_PUSH:
		push(s, i->reg);
		break;
	case OP_INSN_POP:
		pop(s, i->reg);
		break;
	case OP_INSN_ADD_SP:
		move_sp(s, i->value);
		break;
	case OP_INSN_SET_SP:
		set_sp_by(s, i->reg, i->value);
		break;
	case OP_INSN_LOAD_SP:
		if (s->slot == UNKNOWN || s->slot != i->value)
			set_sp(s, UNKNOWN, 0);
		else
			set_sp(s, s->slot_holds, 0);
		break;
	case OP_INSN_AND_SP:
	case OP_INSN_LOSE_SP:
		set_sp(s, UNKNOWN, 0);
		break;
	case OP_INSN_COPY_SP:
		copy_sp(s, i->reg, i->value);
		break;
	case OP_INSN_STORE:
		store(s, i->reg, i->value);
		break;
	case OP_INSN_LOAD:
		load(s, i->reg, i->value);
		break;
	case OP_INSN_LOAD_FP:
		if (s->base == OP_CODE_STACK_FP_BASE && s->fp_slot == i->value)
			copy_back(s, i->reg);
		break;
	case OP_INSN_CLEAR_FP:
		clear_fp(s);
		break;
	case OP_INSN_LEAVE:
		leave(s);
		break;
	case OP_INSN_CALL:
	case OP_INSN_CALL_FAR:
		/* the callee does not preserve it */
		if (s->copy_reg != 3 && s->copy_reg < 12)
			s->copy = UNKNOWN;
		break;
	}
}

/* The DWARF number of a register. */
static uint8_t dwarf_number(uint8_t reg)
{
	static const uint8_t numbers[] = { 0, 2, 1, 3, 7, 6, 4, 5 };

	return reg < sizeof(numbers) ? numbers[reg] : reg;
}

/* The rule if sp and fp do not give the CFA: a word of the frame does, or a register. */
static struct op_unwind_rule rule_by_copy(const struct op_code_stack *s,
					  struct op_unwind_rule rule,
					  struct op_unwind_rule none)
{
	bool holds = s->slot_holds >= 0 && s->slot_holds <= INT16_MAX;

	if (s->base == OP_CODE_STACK_FP_BASE) {
		rule.save = OP_SAVE_CHECK | OP_SAVE_FP_AT_FP;
		rule.save_off = 0;
	}
	if (s->base == OP_CODE_STACK_FP_BASE && s->fp_slot != UNKNOWN && holds &&
	    s->fp_slot >= INT16_MIN && s->fp_slot <= INT16_MAX) {
		rule.cfa = OP_CFA_DEREF_FP;
		rule.cfa_off =
			(int32_t)((uint16_t)s->fp_slot | (uint32_t)s->slot_holds << 16);
		return rule;
	}
	if (s->slot != UNKNOWN && s->slot <= INT16_MAX && holds) {
		rule.cfa = OP_CFA_DEREF_SP;
		rule.cfa_off =
			(int32_t)((uint32_t)s->slot | (uint32_t)s->slot_holds << 16);
		return rule;
	}
	if (s->copy != UNKNOWN && s->copy >= 0) {
		rule.cfa = OP_CFA_REG;
		rule.cfa_off = s->copy << 8 | dwarf_number(s->copy_reg);
		return rule;
	}
	return none;
}

static struct op_unwind_rule rule_of(const struct op_code_stack *s,
				     struct op_unwind_rule none)
{
	struct op_unwind_rule rule = { .save = OP_SAVE_CHECK };

	if (s->outermost)
		return (struct op_unwind_rule){ .cfa = OP_CFA_STOP };
	if (s->saved > SAVED_MAX)
		return none;
	if (s->saved) {
		rule.save = OP_SAVE_CHECK | OP_SAVE_FP;
		rule.save_off = (int16_t)-s->saved;
	}
	/* Prefer a frame pointer, because it stays right when sp changes in a way that
	 * is not followed. */
	if (s->sp != UNKNOWN && !(s->fp == 2 * WORD && s->saved == s->fp)) {
		rule.cfa = OP_CFA_SP;
		rule.cfa_off = s->sp;
		return s->sp >= WORD ? rule : none;
	}
	if (s->fp != UNKNOWN) {
		rule.cfa = OP_CFA_FP;
		rule.cfa_off = s->fp;
		return rule;
	}
	return rule_by_copy(s, rule, none);
}

struct op_unwind_rule op_code_stack_rule(const struct op_code_stack *s, bool keep,
					 struct op_unwind_rule none)
{
	struct op_unwind_rule rule = rule_of(s, none);

	if (keep && rule.cfa != OP_CFA_STOP && rule.cfa != none.cfa)
		rule.save |= (uint8_t)(s->kept << OP_SAVE_KEPT_SHIFT);
	return rule;
}
