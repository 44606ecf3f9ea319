/* SPDX-License-Identifier: Apache-2.0 */
/* The shares that the parts of a poll take of its time. */
#include "base/slice.h"

#include "test.h"

#define MS UINT64_C(1000000)

static void test_default(void)
{
	uint64_t before = op_clock_monotonic_ns();
	struct op_turn t = op_turn_begin(0);

	CHECK_INT(t.whole_ns, 20 * MS);
	CHECK(t.end_ns >= before + 20 * MS);
	CHECK(t.end_ns <= op_clock_monotonic_ns() + 20 * MS);
}

static void test_a_part_takes_its_share_of_what_is_left(void)
{
	const struct op_turn t = { .end_ns = 140 * MS, .whole_ns = 40 * MS };

	CHECK_INT(op_turn_part(&t, 100 * MS, 4), 110 * MS);
	CHECK_INT(op_turn_part(&t, 100 * MS, 2), 120 * MS);
	CHECK_INT(op_turn_part(&t, 130 * MS, 4), 140 * MS);
	CHECK_INT(op_turn_part(&t, 135 * MS, 4), 140 * MS);
}

static void test_each_part_gets_a_little(void)
{
	const struct op_turn t = { .end_ns = 140 * MS, .whole_ns = 40 * MS };

	CHECK_INT(op_turn_part(&t, 139 * MS, 4), 141 * MS);
	CHECK_INT(op_turn_part(&t, 500 * MS, 4), 502 * MS);
}

static void test_without_a_poll_there_is_no_end(void)
{
	const struct op_turn t = { 0 };

	CHECK_INT(op_turn_share(&t, 4), 5 * MS);
	CHECK_INT(op_turn_part(&t, 700 * MS, 4), 705 * MS);
}

static void test_used(void)
{
	const struct op_turn t = { .end_ns = 140 * MS, .whole_ns = 40 * MS };

	CHECK(!op_turn_is_used(&t, 100 * MS));
	CHECK(!op_turn_is_used(&t, 105 * MS - 1));
	CHECK(op_turn_is_used(&t, 105 * MS));
	CHECK(op_turn_is_used(&t, 200 * MS));
}

TEST_MAIN({ "default", test_default },
	  { "a_part_takes_its_share_of_what_is_left",
	    test_a_part_takes_its_share_of_what_is_left },
	  { "each_part_gets_a_little", test_each_part_gets_a_little },
	  { "without_a_poll_there_is_no_end", test_without_a_poll_there_is_no_end },
	  { "used", test_used })
