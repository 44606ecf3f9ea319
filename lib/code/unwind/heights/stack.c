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

	if (s->sp != UNKNOWN)
		s->sp = sp > -FRAME_MAX && sp < FRAME_MAX ? (int32_t)sp : UNKNOWN;
	if (s->slot != UNKNOWN)
		s->slot = slot >= 0 && slot < FRAME_MAX ? (int32_t)slot : UNKNOWN;
}

static void set_sp(struct op_code_stack *s, int32_t base, int64_t bytes)
{
	s->sp = base;
	s->slot = UNKNOWN;
	move_sp(s, bytes);
}

static void push(struct op_code_stack *s, uint8_t reg)
{
	move_sp(s, -WORD);
	if (reg == OP_INSN_FP && s->sp != UNKNOWN && !s->saved && s->fp == UNKNOWN)
		s->saved = s->sp;
}

static void pop(struct op_code_stack *s, uint8_t reg)
{
	if (reg == OP_INSN_SP) {
		set_sp(s, UNKNOWN, 0);
		return;
	}
	if (reg == OP_INSN_FP) {
		if (s->saved == s->sp)
			s->saved = 0;
		s->fp = UNKNOWN;
	}
	move_sp(s, WORD);
}

static void copy_sp(struct op_code_stack *s, uint8_t reg, int64_t bytes)
{
	int64_t at = s->sp - bytes;

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
	if (s->copy != UNKNOWN && reg == s->copy_reg) {
		s->slot = (int32_t)at;
		s->slot_holds = s->copy;
	}
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
	if (s->slot != UNKNOWN && s->slot == at && reg != OP_INSN_FP) {
		s->copy_reg = reg;
		s->copy = s->slot_holds;
	}
}

static void set_sp_by(struct op_code_stack *s, uint8_t reg, int64_t bytes)
{
	if (reg == OP_INSN_FP && s->fp != UNKNOWN)
		set_sp(s, s->fp, bytes);
	else if (reg == s->copy_reg && s->copy != UNKNOWN)
		set_sp(s, s->copy, bytes);
	else
		set_sp(s, UNKNOWN, 0);
}

static void leave(struct op_code_stack *s)
{
	set_sp(s, s->fp, WORD);
	s->fp = UNKNOWN;
	s->saved = 0;
}

void op_code_stack_apply(struct op_code_stack *s, const struct op_insn *i)
{
	bool copies = i->kind == OP_INSN_COPY_SP || i->kind == OP_INSN_STORE ||
		      i->kind == OP_INSN_PUSH || i->kind == OP_INSN_SET_SP;

	if (i->regs >> s->copy_reg & 1 && !copies)
		s->copy = UNKNOWN;
	/* Unless it points to the saved fp, fp holds data: once it is written to, it is
	 * not known. */
	if (i->regs >> OP_INSN_FP & 1 && i->kind == OP_INSN_OTHER && s->fp != s->saved)
		s->fp = UNKNOWN;
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

struct op_unwind_rule op_code_stack_rule(const struct op_code_stack *s,
					 struct op_unwind_rule none)
{
	struct op_unwind_rule rule = { .save = OP_SAVE_CHECK };

	if (s->saved > SAVED_MAX)
		return none;
	if (s->saved) {
		rule.save = OP_SAVE_CHECK | OP_SAVE_FP;
		rule.save_off = (int16_t)-s->saved;
	}
	/* A frame pointer is preferred, since it stays right when sp changes in ways that
	 * are not followed. */
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
	if (s->slot != UNKNOWN && s->slot <= INT16_MAX && s->slot_holds >= 0 &&
	    s->slot_holds <= INT16_MAX) {
		rule.cfa = OP_CFA_DEREF_SP;
		rule.cfa_off =
			(int32_t)((uint32_t)s->slot | (uint32_t)s->slot_holds << 16);
		return rule;
	}
	return none;
}
