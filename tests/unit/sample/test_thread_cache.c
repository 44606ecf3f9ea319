/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/kept/thread_cache.h"

#include "base/macros.h"
#include "test.h"

static const struct op_thread_cache_owner owner = { .epoch = 1,
						    .generation = 2,
						    .tid = 3 };

/*
 * Walk a stack of @n words, leaf first, as the caller does. Frames whose word is above 99
 * have two words. A frame's location is its first word + 1000 * @round where it had to be
 * looked up. Returns how many locations there are.
 */
static size_t walk(struct op_thread_cache *slots,
		   const struct op_thread_cache_owner *whose, uint32_t round,
		   const uint64_t *words, size_t n, uint32_t *ret)
{
	struct op_thread_cache *c = op_thread_cache_begin(slots, whose, words, n);
	size_t left = n;
	size_t len = 0;

	CHECK(c);
	while (left) {
		const uint64_t *word = words + n - left;
		size_t used = *word > 99 && left > 1 ? 2 : 1;
		size_t known = op_thread_cache_rest(c, left, ret + len);

		if (known)
			return len + known;
		ret[len] = (uint32_t)*word + 1000 * round;
		op_thread_cache_keep(c, left, used, ret[len++]);
		left -= used;
	}
	return len;
}

static void check(const uint32_t *got, size_t n, const uint32_t *want, size_t want_n)
{
	size_t i;

	CHECK_INT(n, want_n);
	for (i = 0; i < n; i++)
		CHECK_INT(got[i], want[i]);
}

#define WALK(slots, owner, round, ...)                                                   \
	walk(slots, owner, round, (const uint64_t[]){ __VA_ARGS__ },                     \
	     OP_ARRAY_SIZE(((const uint64_t[]){ __VA_ARGS__ })), got)
#define GIVES(n, ...)                                                                    \
	check(got, n, (const uint32_t[]){ __VA_ARGS__ },                                 \
	      OP_ARRAY_SIZE(((const uint32_t[]){ __VA_ARGS__ })))

static void test_only_the_new_frames_are_looked_up(void)
{
	struct op_thread_cache slots[OP_THREAD_CACHE_SLOTS] = { 0 };
	uint32_t got[16];

	GIVES(WALK(slots, &owner, 1, 4, 3, 2, 1), 1004, 1003, 1002, 1001);
	GIVES(WALK(slots, &owner, 2, 5, 3, 2, 1), 2005, 1003, 1002, 1001);
	GIVES(WALK(slots, &owner, 3, 2, 1), 1002, 1001);
	/* deeper again: what the short one had not is new */
	GIVES(WALK(slots, &owner, 4, 5, 3, 2, 1), 4005, 4003, 1002, 1001);
	/* another root: nothing is shared */
	GIVES(WALK(slots, &owner, 5, 5, 3, 2, 9), 5005, 5003, 5002, 5009);
	op_thread_cache_deinit(slots);
}

static void test_frames_of_two_words_stay_whole(void)
{
	struct op_thread_cache slots[OP_THREAD_CACHE_SLOTS] = { 0 };
	uint32_t got[16];

	GIVES(WALK(slots, &owner, 1, 100, 7, 200, 8, 1), 1100, 1200, 1001);
	/* the second word differs: the frame is another one */
	GIVES(WALK(slots, &owner, 2, 200, 9, 1), 2200, 1001);
	GIVES(WALK(slots, &owner, 3, 100, 7, 200, 9, 1), 3100, 2200, 1001);
	/* its second word is now a frame of its own */
	GIVES(WALK(slots, &owner, 4, 5, 9, 1), 4005, 4009, 1001);
	GIVES(WALK(slots, &owner, 5, 200, 9, 1), 5200, 1001);
	op_thread_cache_deinit(slots);
}

/* Numbers are of a window, addresses of a generation, and slots are few. */
static void test_others_share_nothing(void)
{
	struct op_thread_cache slots[OP_THREAD_CACHE_SLOTS] = { 0 };
	struct op_thread_cache_owner other = owner;
	uint32_t got[16];
	uint32_t i;

	GIVES(WALK(slots, &owner, 1, 2, 1), 1002, 1001);
	other.epoch++;
	GIVES(WALK(slots, &other, 2, 2, 1), 2002, 2001);
	other.generation++;
	GIVES(WALK(slots, &other, 3, 2, 1), 3002, 3001);
	for (i = 0; i < 4 * OP_THREAD_CACHE_SLOTS; i++) {
		other.tid++;
		GIVES(WALK(slots, &other, 4, 2, 1), 4002, 4001);
	}
	op_thread_cache_deinit(slots);
}

static void test_what_was_not_kept_whole_is_forgotten(void)
{
	static const uint64_t words[] = { 3, 2, 1 };
	struct op_thread_cache slots[OP_THREAD_CACHE_SLOTS] = { 0 };
	struct op_thread_cache *c = op_thread_cache_begin(slots, &owner, words, 3);
	uint32_t got[16];

	op_thread_cache_keep(c, 3, 1, 1003);
	op_thread_cache_forget(c);
	GIVES(WALK(slots, &owner, 2, 3, 2, 1), 2003, 2002, 2001);
	op_thread_cache_deinit(slots);
}

TEST_MAIN({ "new", test_only_the_new_frames_are_looked_up },
	  { "words", test_frames_of_two_words_stay_whole },
	  { "others", test_others_share_nothing },
	  { "forgotten", test_what_was_not_kept_whole_is_forgotten })
