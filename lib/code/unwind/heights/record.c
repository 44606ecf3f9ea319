/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/heights/record.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "code/unwind/heights/heights.h"
#include "code/unwind/heights/instruction.h"

enum {
	PUSH_FP = 0x55,
	RET = 0xc3,
	INT3 = 0xcc,
	NOP = 0x90,
	ALIGNMENT = 16,
	TRIES_MAX = 4, /* places where the function may begin */
	/* instructions from the one that sets sp to the jump, and from there back */
	SWITCH_STEPS = 4,
};

struct sought {
	const uint8_t *code;
	size_t at;
	struct op_unwind_rule rule; /* that holds there */
};

static int read_code(void *data, size_t off, void *buf, size_t len)
{
	const struct sought *s = data;

	memcpy(buf, s->code + off, len);
	return 0;
}

static int on_rule(void *data, size_t off, struct op_unwind_rule rule)
{
	struct sought *s = data;

	if (off > s->at)
		return -ERANGE; /* the other rules are not needed */
	s->rule = rule;
	return 0;
}

/* The rule at @at if a function begins at @code. */
static struct op_unwind_rule rule_at(const uint8_t *code, size_t len, uint64_t addr,
				     size_t at)
{
	const struct op_unwind_rule none = { .cfa = OP_CFA_INVALID };
	struct sought sought = { .code = code, .at = at, .rule = none };
	const struct op_heights_code from = {
		.read = read_code, .data = &sought, .len = len, .addr = addr
	};
	_cleanup_(op_heights_freep) struct op_heights *h = NULL;

	if (op_heights_new(&from, none, &h) == 0)
		(void)op_heights_on(h, NULL, on_rule, &sought);
	return sought.rule;
}

/* May a function that saves fp first begin at @at? */
static bool may_begin(const uint8_t *code, uint64_t addr, size_t at)
{
	uint8_t before = at ? code[at - 1] : 0;

	if (code[at] != PUSH_FP)
		return false;
	return (addr + at) % ALIGNMENT == 0 || before == RET || before == INT3 ||
	       before == NOP || !before;
}

bool op_heights_keep_record(const uint8_t *code, size_t len, uint64_t addr, size_t at)
{
	unsigned int tries = 0;
	size_t start = at + 1;

	while (start-- && tries < TRIES_MAX) {
		struct op_unwind_rule rule;

		if (!may_begin(code, addr, start))
			continue;
		tries++;
		rule = rule_at(code + start, len - start, addr + start, at - start);
		if (rule.cfa != OP_CFA_INVALID)
			return rule.cfa == OP_CFA_FP && rule.cfa_off == 16 &&
			       rule.save_off == -16;
	}
	return false;
}

/* Does it set sp to a value outside of the function's frame? */
static bool sets_sp(const struct op_insn *i)
{
	return i->kind == OP_INSN_LOSE_SP ||
	       (i->kind == OP_INSN_SET_SP && i->reg != OP_INSN_FP && !i->value);
}

/* Skip the instructions from @at on that a switch of stacks consists of: pops and
 * moves. Returns the offset behind them, at most SWITCH_STEPS instructions later, or
 * @until if it comes to that. */
static size_t skip_moves(const uint8_t *code, size_t len, size_t at, size_t until,
			 struct op_insn *ret)
{
	unsigned int steps;

	for (steps = 0; steps < SWITCH_STEPS && at < until; steps++) {
		size_t n = op_insn_read(code + at, len - at, ret);

		if (!n || (ret->kind != OP_INSN_POP && ret->kind != OP_INSN_OTHER))
			break;
		at += n;
	}
	return at;
}

bool op_heights_switch(const uint8_t *code, size_t len, size_t at)
{
	size_t lowest = at - OP_MIN(at, (size_t)OP_HEIGHTS_SWITCH_BEFORE);
	struct op_insn insn = { 0 };
	size_t start;

	if (at >= len)
		return false;
	(void)skip_moves(code, len, at, len, &insn);
	if (insn.kind != OP_INSN_RETURN && insn.kind != OP_INSN_JUMP_FAR)
		return false;
	for (start = at; start-- > lowest;) {
		size_t n = op_insn_read(code + start, len - start, &insn);

		if (n && start + n <= at && sets_sp(&insn) &&
		    skip_moves(code, len, start + n, at, &insn) == at)
			return true;
	}
	return false;
}
