/* SPDX-License-Identifier: Apache-2.0 */
#include "process/memo.h"

#include "test.h"

enum {
	EPOCH = 7,
	WORDS_MAX = 8
};

static const uint64_t one[] = { 1, 2 };
static const uint64_t two[] = { 1, 3 };
static const uint64_t longer[] = { 1, 2, 0 };

/* The hash only finds candidates: what has the same one must differ all the same. */
static void test_words_of_one_hash_stay_apart(void)
{
	struct op_memo m;
	uint32_t number = 0;

	op_memo_init(&m, WORDS_MAX);
	CHECK(!op_memo_find(&m, EPOCH, 42, one, 2, &number));
	op_memo_add(&m, 42, one, 2, 10);
	CHECK(!op_memo_find(&m, EPOCH, 42, two, 2, &number));
	CHECK(!op_memo_find(&m, EPOCH, 42, longer, 3, &number));
	op_memo_add(&m, 42, two, 2, 11);
	CHECK(op_memo_find(&m, EPOCH, 42, one, 2, &number));
	CHECK_INT(number, 10);
	CHECK(op_memo_find(&m, EPOCH, 42, two, 2, &number));
	CHECK_INT(number, 11);
	op_memo_deinit(&m);
}

/* Numbers are of one window. */
static void test_a_new_window_knows_nothing(void)
{
	struct op_memo m;
	uint32_t number = 0;

	op_memo_init(&m, WORDS_MAX);
	CHECK(!op_memo_find(&m, EPOCH, 42, one, 2, &number));
	op_memo_add(&m, 42, one, 2, 10);
	CHECK(!op_memo_find(&m, EPOCH + 1, 42, one, 2, &number));
	op_memo_add(&m, 42, one, 2, 12);
	CHECK(op_memo_find(&m, EPOCH + 1, 42, one, 2, &number));
	CHECK_INT(number, 12);
	op_memo_deinit(&m);
}

static void test_past_the_limit_nothing_is_kept_and_nothing_lost(void)
{
	uint64_t words[2] = { 0 };
	struct op_memo m;
	uint32_t number = 0;
	uint32_t i;

	op_memo_init(&m, WORDS_MAX);
	CHECK(!op_memo_find(&m, EPOCH, 0, words, 2, &number));
	for (i = 0; i < WORDS_MAX; i++) {
		words[0] = i;
		op_memo_add(&m, op_memo_hash(&m, words, 2), words, 2, i);
	}
	for (i = 0; i < WORDS_MAX; i++) {
		words[0] = i;
		CHECK(op_memo_find(&m, EPOCH, op_memo_hash(&m, words, 2), words, 2,
				   &number) == (i < WORDS_MAX / 2));
		if (i < WORDS_MAX / 2)
			CHECK_INT(number, i);
	}
	op_memo_deinit(&m);
}

TEST_MAIN({ "apart", test_words_of_one_hash_stay_apart },
	  { "window", test_a_new_window_knows_nothing },
	  { "limit", test_past_the_limit_nothing_is_kept_and_nothing_lost })
