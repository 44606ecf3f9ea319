/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/cache.h"

#include "base/macros.h"
#include "test.h"

enum {
	EPOCH = 7,
	LIMIT = 4
};

static void test_every_word_and_the_length_count(void)
{
	static const uint64_t runs[][3] = { { 1, 2, 0 }, { 1, 3, 0 }, { 2, 1, 0 } };
	struct op_cache m;
	uint32_t number = 0;
	uint32_t i;

	op_cache_init(&m, LIMIT);
	(void)op_cache_find(&m, EPOCH, &(struct op_cache_key){ 0 }, &number);
	for (i = 0; i < 4; i++) {
		struct op_cache_key key = op_cache_key(&m, runs[i % 3], i < 3 ? 2 : 3);

		CHECK(!op_cache_find(&m, EPOCH, &key, &number));
		op_cache_add(&m, &key, 10 + i);
	}
	for (i = 0; i < 4; i++) {
		struct op_cache_key key = op_cache_key(&m, runs[i % 3], i < 3 ? 2 : 3);

		CHECK(op_cache_find(&m, EPOCH, &key, &number));
		CHECK_INT(number, 10 + i);
	}
	op_cache_deinit(&m);
}

/* The index only finds candidates: keys that differ in any bit are different. */
static void test_keys_of_one_slot_stay_apart(void)
{
	static const struct op_cache_key one = { { 42, 1 } };
	static const struct op_cache_key others[] = {
		{ { 42, 2 } },
		{ { 42 | UINT64_C(1) << 32, 1 } },
		{ { 42, 1 | UINT64_C(1) << 63 } },
	};
	struct op_cache m;
	uint32_t number = 0;
	size_t i;

	op_cache_init(&m, LIMIT);
	CHECK(!op_cache_find(&m, EPOCH, &one, &number));
	op_cache_add(&m, &one, 10);
	for (i = 0; i < OP_ARRAY_SIZE(others); i++)
		CHECK(!op_cache_find(&m, EPOCH, &others[i], &number));
	op_cache_add(&m, &others[0], 11);
	CHECK(op_cache_find(&m, EPOCH, &one, &number));
	CHECK_INT(number, 10);
	CHECK(op_cache_find(&m, EPOCH, &others[0], &number));
	CHECK_INT(number, 11);
	op_cache_deinit(&m);
}

/* Numbers are of one window. */
static void test_a_new_window_knows_nothing(void)
{
	static const struct op_cache_key key = { { 42, 1 } };
	struct op_cache m;
	uint32_t number = 0;

	op_cache_init(&m, LIMIT);
	CHECK(!op_cache_find(&m, EPOCH, &key, &number));
	op_cache_add(&m, &key, 10);
	CHECK(!op_cache_find(&m, EPOCH + 1, &key, &number));
	op_cache_add(&m, &key, 12);
	CHECK(op_cache_find(&m, EPOCH + 1, &key, &number));
	CHECK_INT(number, 12);
	op_cache_deinit(&m);
}

static void test_past_the_limit_nothing_is_kept_and_nothing_lost(void)
{
	struct op_cache m;
	uint32_t number = 0;
	uint64_t word;

	op_cache_init(&m, LIMIT);
	(void)op_cache_find(&m, EPOCH, &(struct op_cache_key){ 0 }, &number);
	for (word = 0; word < 2 * LIMIT; word++) {
		struct op_cache_key key = op_cache_key(&m, &word, 1);

		op_cache_add(&m, &key, (uint32_t)word);
	}
	for (word = 0; word < 2 * LIMIT; word++) {
		struct op_cache_key key = op_cache_key(&m, &word, 1);

		CHECK(op_cache_find(&m, EPOCH, &key, &number) == (word < LIMIT));
		if (word < LIMIT)
			CHECK_INT(number, (int)word);
	}
	op_cache_deinit(&m);
}

TEST_MAIN({ "words", test_every_word_and_the_length_count },
	  { "apart", test_keys_of_one_slot_stay_apart },
	  { "window", test_a_new_window_knows_nothing },
	  { "limit", test_past_the_limit_nothing_is_kept_and_nothing_lost })
