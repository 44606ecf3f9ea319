/* SPDX-License-Identifier: Apache-2.0 */
/* Of intervals off the CPUs some are taken: their weights have to add up to the whole time,
 * however small the budget is. */
#include <linux/types.h>
#include <stdbool.h>

#include "test.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

static uint64_t state = 88172645463325252;

static uint32_t random_u32(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

static inline uint32_t bpf_get_prandom_u32(void)
{
	return random_u32();
}

/* of unrolled loops, which only clang unrolls so */
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#include "bpf/event/off/points.h"

enum {
	INTERVALS = 20000000,
	MEAN_NS = 20000,
	BURST = 50000, /* intervals: a second of one kind, a second of another */
};

/* Up to twice @mean. */
static uint64_t some_ns(uint64_t mean)
{
	return 1 + (random_u32() * 2 * mean >> 32);
}

static void check(uint64_t budget, bool bursts)
{
	struct op_off_points points = { 0 };
	uint64_t now = 1000000000;
	uint64_t begin = now;
	uint64_t taken = 0;
	uint64_t all = 0;
	uint64_t sum = 0;
	double ratio;
	long i;

	for (i = 0; i < INTERVALS; i++) {
		bool long_ones = bursts && i / BURST % 2;
		uint64_t off = some_ns(long_ones ? MEAN_NS * 10 : MEAN_NS);
		uint64_t weight;

		now += off;
		(void)op_off_adapt(&points, budget, now);
		weight = op_off_weight(&points, off);
		taken += weight > 0;
		sum += weight;
		all += off;
		now += some_ns(MEAN_NS);
	}
	ratio = (double)sum / (double)all;
	printf("  budget %llu%s: %.1f taken a second, sum %.4f of the truth\n",
	       (unsigned long long)budget, bursts ? " in bursts" : "",
	       (double)taken * 1e9 / (double)(now - begin), ratio);
	CHECK(ratio > 0.995 && ratio < 1.005);
}

static void test_sums(void)
{
	static const uint64_t budget[] = { 1, 3, 7, 31, 62, 1000 };
	size_t i;

	for (i = 0; i < sizeof(budget) / sizeof(budget[0]); i++) {
		check(budget[i], false);
		check(budget[i], true);
	}
}

/* An interval that is longer than every T counts as it is. */
static void test_long_ones(void)
{
	struct op_off_points points = { 0 };

	(void)op_off_adapt(&points, 1, 1000000000);
	CHECK_INT(op_off_weight(&points, 5 * OP_OFF_FIRST_NS), 5 * OP_OFF_FIRST_NS);
	CHECK_INT(points.hits, 1);
}

TEST_MAIN({ "sums", test_sums }, { "long", test_long_ones })
