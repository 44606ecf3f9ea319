/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/rules.h"

#include "test.h"

static struct op_rule rule_of(int i)
{
	return (struct op_rule){ .cfa = OP_CFA_SP, .cfa_off = i * 8, .save_off = -16 };
}

static void test_first_rules_stand(void)
{
	struct op_rule memory[3];
	struct op_rules *rules = NULL;

	CHECK_INT(op_rules_new(memory, 2, &rules), -EINVAL);
	CHECK_OK(op_rules_new(memory, 3, &rules));
	CHECK_INT(op_rules_len(rules), 3);
	CHECK_INT(memory[OP_RULE_STOP].cfa, OP_CFA_STOP);
	CHECK_INT(memory[OP_RULE_FRAME].cfa, OP_CFA_FRAME);
	CHECK_INT(op_rules_intern(rules, memory[OP_RULE_STOP]), OP_RULE_STOP);
	CHECK_INT(op_rules_intern(rules, memory[OP_RULE_FRAME]), OP_RULE_FRAME);
	CHECK_INT(op_rules_intern(rules, (struct op_rule){ 0 }), OP_RULE_INVALID);
	CHECK_INT(op_rules_refused(rules), 0);
	CHECK_INT(op_rules_intern(rules, rule_of(1)), OP_RULE_INVALID);
	CHECK_INT(op_rules_intern(rules, rule_of(1)), OP_RULE_INVALID);
	CHECK_INT(op_rules_refused(rules), 2);
	op_rules_free(rules);
}

static void test_each_rule_has_one_number(void)
{
	enum {
		N = 5000
	};
	static struct op_rule memory[OP_RULES_MAX];
	static uint16_t numbers[N];
	struct op_rules *rules = NULL;
	int i;

	CHECK_OK(op_rules_new(memory, OP_RULES_MAX, &rules));
	for (i = 0; i < N; i++) {
		struct op_rule want = rule_of(i);

		numbers[i] = op_rules_intern(rules, want);
		CHECK_INT(numbers[i], 3 + i);
		CHECK(memcmp(&memory[numbers[i]], &want, sizeof(want)) == 0);
	}
	for (i = N - 1; i >= 0; i--)
		CHECK_INT(op_rules_intern(rules, rule_of(i)), numbers[i]);
	CHECK_INT(op_rules_len(rules), 3 + N);
	op_rules_free(rules);
}

TEST_MAIN({ "first", test_first_rules_stand },
	  { "numbers", test_each_rule_has_one_number })
