/* SPDX-License-Identifier: Apache-2.0 */
/* The two times of a block I/O in one value: op_short_of() and back. */
#include <stdint.h>

#include "base/rows/rows.h"
#include "test.h"

enum {
	EXACT = 1 << (OP_SHORT_DIGITS + 1), /* below */
	BITS = 20,			    /* that a time has in a value */
	STEPS = 100000,
};

static void check(uint64_t ns)
{
	uint64_t code = op_short_of(ns);
	uint64_t back = op_short_ns(code);
	uint64_t off = back > ns ? back - ns : ns - back;

	CHECK(code < 1 << BITS);
	if (ns < EXACT)
		CHECK_INT(off, 0);
	CHECK(off <= ns / EXACT);
}

static void test_small(void)
{
	uint64_t ns;

	for (ns = 0; ns < 4 * EXACT; ns++)
		check(ns);
}

/* Around each power of two, where the exponent changes, and evenly up to the greatest. */
static void test_great(void)
{
	uint64_t ns;
	int bit;
	int i;

	for (bit = 17; bit < OP_BLOCK_SECTORS_SHIFT; bit++)
		for (i = -EXACT; i < EXACT; i++)
			check((UINT64_C(1) << bit) + (uint64_t)(int64_t)i);
	for (i = 0; i < STEPS; i++)
		check(OP_BLOCK_NS_MAX / STEPS * (uint64_t)i);
	for (ns = OP_BLOCK_NS_MAX - EXACT; ns <= OP_BLOCK_NS_MAX; ns++)
		check(ns);
}

/* Longer times have no smaller codes, so none is taken for a shorter one. */
static void test_order(void)
{
	uint64_t before = 0;
	uint64_t ns;

	for (ns = 0; ns < 16 * EXACT; ns++) {
		CHECK(op_short_of(ns) >= before);
		before = op_short_of(ns);
	}
}

/* As a kernel of this kind's programs packs them, the rows take them apart. */
static void test_rows(void)
{
	const struct op_otlp_kind *total = op_rows_otlp_of(OP_EVENT_BLOCK_IO);
	const struct op_otlp_kind *queue = total + 1;
	const struct op_otlp_kind *service = total + 2;
	uint64_t value = UINT64_C(128) << OP_BLOCK_SECTORS_SHIFT |
			 op_short_of(3000000) << OP_BLOCK_SERVICE_SHIFT |
			 op_short_of(41234);

	CHECK_STR(total->type, "block_io");
	CHECK_STR(queue->type, "block_io_queue");
	CHECK_STR(service->type, "block_io_service");
	CHECK_INT(queue->part(value), 41234);
	CHECK(service->part(value) > 3000000 - 64 && service->part(value) < 3000000 + 64);
	CHECK_INT(total->part(value), queue->part(value) + service->part(value));
}

TEST_MAIN({ "small", test_small }, { "great", test_great }, { "order", test_order },
	  { "rows", test_rows })
