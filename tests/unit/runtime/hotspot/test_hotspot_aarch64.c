/* SPDX-License-Identifier: Apache-2.0 */
/* The machine code of aarch64 VMs: code that JDK 17 made, by GNU as. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "runtime/hotspot/machine/machine.h"
#include "test.h"

enum {
	RULES_MAX = 64,
};

static struct op_hotspot_rule found[RULES_MAX];

static struct op_hotspot_stack_rules stub(const uint32_t *code, size_t len)
{
	struct op_hotspot_stack_rules rules = { .rule = found, .max = RULES_MAX };

	CHECK_INT(op_runtime_hotspot_stack(&op_hotspot_aarch64, (const uint8_t *)code,
					   len, 0, &rules),
		  0);
	return rules;
}

static const struct op_hotspot_rule *find(const struct op_hotspot_rule *rule,
					  uint32_t count, uint32_t at)
{
	while (count > 1 && rule[count - 1].at > at)
		count--;
	return &rule[count - 1];
}

static void check_stub(const struct op_hotspot_stack_rules *rules, uint32_t i,
		       uint32_t frame, uint32_t words, uint32_t where)
{
	const struct op_hotspot_rule *rule = find(rules->rule, rules->count, i * 4);

	CHECK_INT(rule->frame, frame);
	if (frame == OP_HOTSPOT_NO_RULE)
		return;
	CHECK_INT(rule->words, words);
	CHECK_INT(rule->where, where);
}

static void test_stub(void)
{
	static const uint32_t code[] = {
		0x6dbd27e8, /* 0: stp d8, d9, [sp, -48]! */
		0x6d012fea, /* 1: stp d10, d11, [sp, 16] */
		0xa9bf7bfd, /* 2: stp x29, x30, [sp, -16]! */
		0x910003fd, /* 3: mov x29, sp */
		0xd10083ff, /* 4: sub sp, sp, 32 */
		0x0c882ffc, /* 5: st1 {v28.1d-v31.1d}, [sp], x8 */
		0xd63f0100, /* 6: blr x8 */
		0x910003bf, /* 7: mov sp, x29 */
		0xa8c17bfd, /* 8: ldp x29, x30, [sp], 16 */
		0x6d412fea, /* 9: ldp d10, d11, [sp, 16] */
		0x6cc327e8, /* 10: ldp d8, d9, [sp], 48 */
		0xd65f03c0, /* 11: ret */
		0xaa1e03f3, /* 12: mov x19, x30 */
		0xd63f0100, /* 13: blr x8 */
		0xd61f0260, /* 14: br x19 */
	};
	struct op_hotspot_stack_rules rules = stub(code, sizeof(code));

	check_stub(&rules, 0, OP_HOTSPOT_FROM_SP, 0, OP_HOTSPOT_FP_SAME);
	check_stub(&rules, 1, OP_HOTSPOT_FROM_SP, 6, OP_HOTSPOT_FP_SAME);
	check_stub(&rules, 3, OP_HOTSPOT_FROM_SP, 8, OP_HOTSPOT_FP_SAME);
	check_stub(&rules, 4, OP_HOTSPOT_FROM_SP, 8, 8);
	check_stub(&rules, 5, OP_HOTSPOT_FROM_SP, 12, 8);
	check_stub(&rules, 6, OP_HOTSPOT_FROM_FP, 8, 8);
	check_stub(&rules, 8, OP_HOTSPOT_FROM_SP, 8, 8);
	check_stub(&rules, 9, OP_HOTSPOT_FROM_SP, 6, OP_HOTSPOT_FP_SAME);
	check_stub(&rules, 11, OP_HOTSPOT_FROM_SP, 0, OP_HOTSPOT_FP_SAME);
	check_stub(&rules, 13, OP_HOTSPOT_FROM_SP, 0, OP_HOTSPOT_FP_SAME);
	/* behind its call lr has another address */
	check_stub(&rules, 14, OP_HOTSPOT_NO_RULE, 0, 0);
	check_stub(&rules, 15, OP_HOTSPOT_NO_RULE, 0, 0);
}

/* stop() is a trap and the address of its text, and code jumps back to it. */
static void test_stop(void)
{
	static const uint32_t code[] = {
		0xd4bbd5c1, /* 0: dcps1 0xdeae */
		0x039dc308, /* 1: the text */
		0x00000055, /* 2 */
		0xd503201f, /* 3: nop */
		0xa9bf7bfd, /* 4: stp x29, x30, [sp, -16]! */
		0x910003fd, /* 5: mov x29, sp */
		0x7108007f, /* 6: cmp w3, 512 */
		0x54ffff28, /* 7: b.hi 0 */
		0xcb2353e6, /* 8: sub x6, sp, w3, uxtw 4 */
		0x927cecdf, /* 9: and sp, x6, -16 */
		0x910003bf, /* 10: mov sp, x29 */
		0xa8c17bfd, /* 11: ldp x29, x30, [sp], 16 */
		0xd65f03c0, /* 12: ret */
	};
	struct op_hotspot_stack_rules rules = stub(code, sizeof(code));

	check_stub(&rules, 1, OP_HOTSPOT_NO_RULE, 0, 0);
	check_stub(&rules, 4, OP_HOTSPOT_FROM_SP, 0, OP_HOTSPOT_FP_SAME);
	check_stub(&rules, 9, OP_HOTSPOT_FROM_SP, 2, 2);
	check_stub(&rules, 10, OP_HOTSPOT_FROM_FP, 2, 2);
	check_stub(&rules, 12, OP_HOTSPOT_FROM_SP, 0, OP_HOTSPOT_FP_SAME);
}

/* Two method entries, one with a frame, and the return bytecode. */
static const uint32_t interpreter[] = {
	0xf9400583, /* 0: ldr x3, [x12, 8] */
	0xa9ba5bf4, /* 1: stp x20, x22, [sp, -96]! */
	0xa90333ff, /* 2: stp xzr, x12, [sp, 48] */
	0xa9057bfd, /* 3: stp x29, x30, [sp, 80] */
	0x910143fd, /* 4: add x29, sp, 80 */
	0xa90437ff, /* 5: stp xzr, x13, [sp, 64] */
	0x38400ec8, /* 6: ldrb w8, [x22, 0]! */
	0xd61f0120, /* 7: br x9 */
	0xfd400280, /* 8: ldr d0, [x20] */
	0x910001bf, /* 9: mov sp, x13 */
	0xaa1e03f3, /* 10: mov x19, x30 */
	0xd63f0100, /* 11: blr x8 */
	0xd61f0260, /* 12: br x19 */
	0xf81b83b6, /* 13: stur x22, [x29, -72] */
	0x910003bf, /* 14: mov sp, x29 */
	0xa8c17bfd, /* 15: ldp x29, x30, [sp], 16 */
	0x927cee9f, /* 16: and sp, x20, -16 */
	0xd65f03c0, /* 17: ret */
	0xd503201f, /* 18: nop */
};

static const struct op_hotspot_codelet codelets[] = {
	{ 0, 8 * 4, OP_HOTSPOT_IS_METHOD },
	{ 8 * 4, 5 * 4, OP_HOTSPOT_IS_METHOD },
	{ 13 * 4, 6 * 4, OP_HOTSPOT_IS_BYTECODE },
};

static void test_interpreter(void)
{
	static const struct {
		uint32_t i, frame, where;
	} wanted[] = {
		{ 0, OP_HOTSPOT_ENTRY, OP_HOTSPOT_RETURN_LR },
		{ 4, OP_HOTSPOT_ENTRY, OP_HOTSPOT_RETURN_LR },
		{ 5, OP_HOTSPOT_HALF, 0 },
		{ 6, OP_HOTSPOT_BEGUN, 0 },
		{ 8, OP_HOTSPOT_ENTRY, OP_HOTSPOT_RETURN_LR },
		{ 11, OP_HOTSPOT_ENTRY, OP_HOTSPOT_RETURN_REG + 19 },
		{ 12, OP_HOTSPOT_ENTRY, OP_HOTSPOT_RETURN_REG + 19 },
		{ 13, OP_HOTSPOT_BCP, 0 },
		{ 15, OP_HOTSPOT_BCP, 0 },
		{ 16, OP_HOTSPOT_GONE, OP_HOTSPOT_RETURN_LR },
		{ 17, OP_HOTSPOT_GONE, OP_HOTSPOT_RETURN_LR },
		{ 18, OP_HOTSPOT_BCP, 0 },
	};
	_cleanup_free_ struct op_hotspot_rules *rules = malloc(sizeof(*rules));
	size_t i;

	CHECK(rules);
	op_hotspot_aarch64.rules((const uint8_t *)interpreter, sizeof(interpreter),
				 codelets, OP_ARRAY_SIZE(codelets), rules);
	CHECK_INT(rules->prologues, 1);
	CHECK_INT(rules->epilogues, 1);
	CHECK_INT(rules->bcp_slot, -72);
	CHECK(rules->has_mirror);
	CHECK_INT(rules->entry_sender, 13);
	for (i = 0; i < OP_ARRAY_SIZE(wanted); i++) {
		const struct op_hotspot_rule *rule =
			find(rules->rule, rules->count, wanted[i].i * 4);

		CHECK_INT(rule->frame, wanted[i].frame);
		CHECK_INT(rule->where, wanted[i].where);
	}
}

/* JDK 20 and later save the caller's sp later, and in another register. */
static void test_late_sender(void)
{
	static const uint32_t code[] = {
		0xa9ba5bf4, /* 0: stp x20, x22, [sp, -96]! */
		0xa9057bfd, /* 1: stp x29, x30, [sp, 80] */
		0x910143fd, /* 2: add x29, sp, 80 */
		0xf940059a, /* 3: ldr x26, [x12, 8] */
		0xf940075a, /* 4: ldr x26, [x26, 8] */
		0xf9400b5a, /* 5: ldr x26, [x26, 16] */
		0xcb1d0308, /* 6: sub x8, x24, x29 */
		0xd503201f, /* 7: nop */
		0xa9016be8, /* 8: stp x8, x26, [sp, 16] */
		0xa9044fff, /* 9: stp xzr, x19, [sp, 64] */
		0xd61f0120, /* 10: br x9 */
	};
	static const struct op_hotspot_codelet method = { 0, sizeof(code),
							  OP_HOTSPOT_IS_METHOD };
	_cleanup_free_ struct op_hotspot_rules *rules = malloc(sizeof(*rules));

	CHECK(rules);
	op_hotspot_aarch64.rules((const uint8_t *)code, sizeof(code), &method, 1, rules);
	CHECK_INT(rules->prologues, 1);
	CHECK_INT(rules->entry_sender, 19);
	CHECK_INT(find(rules->rule, rules->count, 2 * 4)->frame, OP_HOTSPOT_ENTRY);
	CHECK_INT(find(rules->rule, rules->count, 3 * 4)->frame, OP_HOTSPOT_HALF);
	CHECK_INT(find(rules->rule, rules->count, 9 * 4)->frame, OP_HOTSPOT_HALF);
	CHECK_INT(find(rules->rule, rules->count, 10 * 4)->frame, OP_HOTSPOT_BEGUN);
}

static struct op_hotspot_instruction decode(uint32_t op)
{
	struct op_hotspot_instruction in;

	CHECK(op_hotspot_aarch64.instruction((const uint8_t *)&op, sizeof(op), &in));
	CHECK_INT(in.bytes, 4);
	return in;
}

static void test_jumps(void)
{
	static const struct {
		uint32_t op;
		bool jump, conditional, leaves;
		int to;
	} jumps[] = {
		{ 0x17fff2e3, true, false, true, -0x3474 }, /* b */
		{ 0x54000129, true, true, false, 0x24 },    /* b.ls */
		{ 0x540001ee, true, false, true, 0x3c },    /* b.al */
		{ 0xb5ffffc3, true, true, false, -8 },	    /* cbnz */
		{ 0x36280662, true, true, false, 0xcc },    /* tbz */
		{ 0x94000400, false, false, false, 0 },	    /* bl */
		{ 0xd63f0100, false, false, false, 0 },	    /* blr x8 */
		{ 0xd61f0120, false, false, true, 0 },	    /* br x9 */
		{ 0xd65f03c0, false, false, true, 0 },	    /* ret */
		{ 0xd65f0bff, false, false, true, 0 },	    /* retaa */
		{ 0xd4bbd5c1, false, false, true, 0 },	    /* dcps1 */
		{ 0xd4000001, false, false, false, 0 },	    /* svc 0 */
		{ 0x910043ff, false, false, false, 0 },	    /* add sp, sp, 16 */
	};
	struct op_hotspot_instruction in;
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(jumps); i++) {
		in = decode(jumps[i].op);
		CHECK_INT(in.jump, jumps[i].jump);
		CHECK_INT(in.conditional, jumps[i].conditional);
		CHECK_INT(in.leaves, jumps[i].leaves);
		CHECK_INT(in.to, jumps[i].to);
	}
	CHECK(!op_hotspot_aarch64.instruction((const uint8_t *)"\0\0\0\0", 4, &in));
	CHECK(!op_hotspot_aarch64.instruction((const uint8_t *)"\x1f\x20\x03", 3, &in));
}

TEST_MAIN({ "stub", test_stub }, { "stop", test_stop },
	  { "interpreter", test_interpreter }, { "late_sender", test_late_sender },
	  { "jumps", test_jumps })
