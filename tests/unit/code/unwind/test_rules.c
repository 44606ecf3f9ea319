/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/rules.h"

#include "code/unwind/arena.h"
#include "test.h"

static struct op_unwind_rule rule_of(int i)
{
	return (struct op_unwind_rule){ .cfa = OP_CFA_SP,
					.cfa_off = i * 8,
					.save_off = -16 };
}

static void test_first_rules_stand(void)
{
	struct op_unwind_rule memory[3];
	struct op_unwind_rule_set set = { 0 };
	struct op_unwind_rules *rules = NULL;

	CHECK_INT(op_unwind_rules_new(memory, 2, &rules), -EINVAL);
	CHECK_OK(op_unwind_rules_new(memory, 3, &rules));
	CHECK_INT(op_unwind_rules_len(rules), 3);
	CHECK_INT(memory[OP_UNWIND_RULE_STOP].cfa, OP_CFA_STOP);
	CHECK_INT(memory[OP_UNWIND_RULE_FRAME].cfa, OP_CFA_FRAME);
	CHECK_INT(op_unwind_rules_intern(rules, &set, memory[OP_UNWIND_RULE_STOP]),
		  OP_UNWIND_RULE_STOP);
	CHECK_INT(op_unwind_rules_intern(rules, &set, memory[OP_UNWIND_RULE_FRAME]),
		  OP_UNWIND_RULE_FRAME);
	CHECK_INT(op_unwind_rules_intern(rules, &set, (struct op_unwind_rule){ 0 }),
		  OP_UNWIND_RULE_INVALID);
	CHECK_INT(op_unwind_rules_refused(rules), 0);
	CHECK_INT(op_unwind_rules_intern(rules, &set, rule_of(1)),
		  OP_UNWIND_RULE_INVALID);
	CHECK_INT(op_unwind_rules_intern(rules, &set, rule_of(1)),
		  OP_UNWIND_RULE_INVALID);
	CHECK_INT(op_unwind_rules_refused(rules), 2);
	op_unwind_rules_release(rules, &set, 0);
	op_unwind_rules_free(rules);
}

static void test_each_rule_has_one_number(void)
{
	enum {
		N = 5000
	};
	static struct op_unwind_rule memory[OP_UNWIND_RULES_MAX];
	static uint16_t numbers[N];
	struct op_unwind_rule_set set = { 0 };
	struct op_unwind_rules *rules = NULL;
	int i;

	CHECK_OK(op_unwind_rules_new(memory, OP_UNWIND_RULES_MAX, &rules));
	for (i = 0; i < N; i++) {
		struct op_unwind_rule want = rule_of(i);

		numbers[i] = op_unwind_rules_intern(rules, &set, want);
		CHECK_INT(numbers[i], 3 + i);
		CHECK(memcmp(&memory[numbers[i]], &want, sizeof(want)) == 0);
	}
	for (i = N - 1; i >= 0; i--)
		CHECK_INT(op_unwind_rules_intern(rules, &set, rule_of(i)), numbers[i]);
	CHECK_INT(op_unwind_rules_len(rules), 3 + N);
	op_unwind_rules_release(rules, &set, 0);
	op_unwind_rules_free(rules);
}

/* Another image's flood leaves room, and what it took comes back when it is gone. */
static void test_share_and_return(void)
{
	static struct op_unwind_rule memory[OP_UNWIND_RULES_MAX];
	struct op_unwind_rule_set sets[OP_UNWIND_RULES_MAX / OP_UNWIND_RULES_SET_MAX] = {
		0
	};
	struct op_unwind_rule_set late = { 0 };
	struct op_unwind_rules *rules = NULL;
	const uint64_t now = UINT64_C(5000000000);
	int next = 0;
	size_t i;

	CHECK_OK(op_unwind_rules_new(memory, OP_UNWIND_RULES_MAX, &rules));
	/* One ELF file with 32,768 rules. */
	for (; next < OP_UNWIND_RULES_MAX; next++)
		(void)op_unwind_rules_intern(rules, &sets[0], rule_of(next));
	CHECK_INT(sets[0].numbers.len, OP_UNWIND_RULES_SET_MAX);
	CHECK(!sets[0].full);
	CHECK(op_unwind_rules_intern(rules, &late, rule_of(-1)) !=
	      OP_UNWIND_RULE_INVALID);
	/* Many of them take all there is. */
	for (i = 1; i < OP_UNWIND_RULES_MAX / OP_UNWIND_RULES_SET_MAX; i++)
		for (int j = 0; j < OP_UNWIND_RULES_SET_MAX; j++)
			(void)op_unwind_rules_intern(rules, &sets[i], rule_of(next++));
	CHECK_INT(op_unwind_rules_used(rules), OP_UNWIND_RULES_MAX);
	CHECK_INT(op_unwind_rules_intern(rules, &late, rule_of(-2)),
		  OP_UNWIND_RULE_INVALID);
	CHECK(late.full);
	/* One is given up: programs may read its rules for a while. */
	op_unwind_rules_release(rules, &sets[1], now);
	op_unwind_rules_reclaim(rules, now + 1);
	CHECK_INT(op_unwind_rules_intern(rules, &late, rule_of(-2)),
		  OP_UNWIND_RULE_INVALID);
	op_unwind_rules_reclaim(rules, now + OP_ARENA_GRACE_NS);
	for (int j = 2; j < OP_UNWIND_RULES_SET_MAX; j++) {
		uint16_t number = op_unwind_rules_intern(rules, &late, rule_of(-j));

		CHECK(number != OP_UNWIND_RULE_INVALID);
		CHECK_INT(memory[number].cfa_off, -j * 8);
	}
	op_unwind_rules_release(rules, &late, 0);
	for (i = 0; i < OP_UNWIND_RULES_MAX / OP_UNWIND_RULES_SET_MAX; i++)
		op_unwind_rules_release(rules, &sets[i], 0);
	CHECK_INT(op_unwind_rules_used(rules), 3);
	op_unwind_rules_free(rules);
}

/* A rule that is used again in its grace stays what it is. */
static void test_used_again(void)
{
	static struct op_unwind_rule memory[8];
	struct op_unwind_rule_set a = { 0 };
	struct op_unwind_rule_set b = { 0 };
	struct op_unwind_rules *rules = NULL;
	uint16_t number;

	CHECK_OK(op_unwind_rules_new(memory, 8, &rules));
	number = op_unwind_rules_intern(rules, &a, rule_of(1));
	op_unwind_rules_release(rules, &a, 1000);
	CHECK_INT(op_unwind_rules_intern(rules, &b, rule_of(1)), number);
	op_unwind_rules_reclaim(rules, UINT64_MAX);
	CHECK_INT(op_unwind_rules_intern(rules, &a, rule_of(1)), number);
	CHECK_INT(op_unwind_rules_intern(rules, &a, rule_of(2)), number + 1);
	CHECK_INT(memory[number].cfa_off, 8);
	op_unwind_rules_release(rules, &a, 1000);
	op_unwind_rules_release(rules, &b, 1000);
	op_unwind_rules_free(rules);
}

TEST_MAIN({ "share", test_share_and_return }, { "again", test_used_again },
	  { "first", test_first_rules_stand },
	  { "numbers", test_each_rule_has_one_number })
