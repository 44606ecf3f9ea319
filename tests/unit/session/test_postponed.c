/* SPDX-License-Identifier: Apache-2.0 */
#include "session/postponed.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "test.h"

enum {
	RECORD_BYTES = 13 << 10,
	GREEDY = 8,
	FIRST_MAX = OP_POSTPONED_BYTES_MAX / RECORD_BYTES,
};

static uint8_t record[RECORD_BYTES];

/* Add records of @pid until no more are taken. Returns how many were. */
static unsigned int fill(struct op_postponed *q, uint32_t pid)
{
	unsigned int n = 0;

	while (op_postponed_add(q, pid, pid, record, sizeof(record)) == 0)
		n++;
	return n;
}

/* However many processes want all there is, another one has a place for some records. */
static void test_nobody_takes_all(void)
{
	struct op_postponed q;
	uint32_t pid;

	op_postponed_init(&q);
	CHECK(fill(&q, 1) <= FIRST_MAX / 3 + 1);
	for (pid = 2; pid <= GREEDY; pid++)
		(void)fill(&q, pid);
	CHECK(fill(&q, GREEDY + 1) >= 1);
	CHECK(q.bytes <= OP_POSTPONED_BYTES_MAX);
	CHECK(!op_postponed_find(&q, GREEDY + 2));
	op_postponed_deinit(&q);
	CHECK_INT(q.bytes, 0);
	CHECK_INT(q.len, 0);
}

/* Processes take turns; records of one keep their order. */
static void test_turns(void)
{
	static const uint8_t texts[][2] = { "a", "b", "c", "d" };
	struct op_postponed q;
	struct op_waiter *w;
	const void *first;
	size_t len;

	op_postponed_init(&q);
	CHECK_INT(op_postponed_oldest_ns(&q), 0);
	CHECK(!op_postponed_turn(&q));
	CHECK_OK(op_postponed_add(&q, 1, 50, texts[0], 2));
	CHECK_OK(op_postponed_add(&q, 1, 60, texts[1], 2));
	CHECK_OK(op_postponed_add(&q, 2, 40, texts[2], 2));
	CHECK_OK(op_postponed_add(&q, 1, 70, texts[3], 2));
	CHECK_INT(op_postponed_oldest_ns(&q), 40);

	w = op_postponed_turn(&q);
	CHECK_INT(w->pid, 1);
	first = op_waiter_record(w, &len);
	CHECK(len == 2 && memcmp(first, "a", 2) == 0);
	CHECK(op_waiter_drop(&q, w));
	op_waiter_yield(&q, w);

	w = op_postponed_turn(&q);
	CHECK_INT(w->pid, 2);
	CHECK(!op_waiter_drop(&q, w));
	CHECK(!op_postponed_find(&q, 2));

	w = op_postponed_turn(&q);
	CHECK_INT(w->pid, 1);
	CHECK_INT(op_postponed_oldest_ns(&q), 60);
	CHECK(memcmp(op_waiter_record(w, &len), "b", 2) == 0);
	CHECK(op_waiter_drop(&q, w));
	CHECK(memcmp(op_waiter_record(w, &len), "d", 2) == 0);
	CHECK(!op_waiter_drop(&q, w));
	CHECK(!op_postponed_turn(&q));
	op_postponed_deinit(&q);
}

/* One process that lacks a table is enough, until its last record is gone. */
static void test_lacks_table(void)
{
	struct op_postponed q;

	op_postponed_init(&q);
	CHECK(!op_postponed_lacks_table(&q));
	CHECK_OK(op_postponed_add(&q, 1, 50, "a", 1));
	CHECK_OK(op_postponed_add(&q, 2, 60, "b", 1));
	CHECK(!op_postponed_lacks_table(&q));
	op_postponed_find(&q, 2)->lacks_table = true;
	CHECK(op_postponed_lacks_table(&q));
	CHECK(!op_waiter_drop(&q, op_postponed_find(&q, 2)));
	CHECK(!op_postponed_lacks_table(&q));
	op_postponed_deinit(&q);
}

TEST_MAIN({ "lacks_table", test_lacks_table },
	  { "nobody_takes_all", test_nobody_takes_all }, { "turns", test_turns })
