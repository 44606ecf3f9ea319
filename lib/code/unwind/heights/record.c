/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/heights/record.h"

#include <errno.h>
#include <string.h>

#include "code/unwind/heights/heights.h"

enum {
	PUSH_FP = 0x55,
	RET = 0xc3,
	INT3 = 0xcc,
	NOP = 0x90,
	ALIGNMENT = 16,
	TRIES_MAX = 4, /* places where the function may begin */
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
		return -ERANGE; /* the rest is not wanted */
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
