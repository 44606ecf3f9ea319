/* SPDX-License-Identifier: Apache-2.0 */
/* Of intervals off the CPUs some are taken: their weights have to add up to the whole time,
 * however small the budget is. The rule of another profiler is beside ours. */
#include <linux/types.h>
#include <stdbool.h>

#include "random.h"
#include "test.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

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

/*
 * The rule of the OpenTelemetry eBPF profiler (support/ebpf/off_cpu.ebpf.c), beside ours: with
 * probability @p a switch notes when the thread left, in the value of that CPU in a hash by
 * thread. When the thread runs again and the value of the CPU where it does is not zero, that is
 * the beginning, and the thread is deleted from the hash, with the values of all CPUs; else there
 * is no sample. No value is divided by @p.
 */
struct other_rule {
	uint64_t begun[2]; /* on each CPU; 0: no switch was noted */
	uint32_t cpu;	   /* where the thread runs */
};

static uint64_t other_sample(struct other_rule *o, uint32_t p, uint64_t now, uint64_t off,
			     bool moves)
{
	uint64_t begun;

	if (random_u32() <= p)
		o->begun[o->cpu] = now;
	if (moves)
		o->cpu ^= 1;
	begun = o->begun[o->cpu];
	if (!begun)
		return 0;
	o->begun[0] = o->begun[1] = 0;
	return now + off - begun;
}

/* The sums of both rules by the truth, of a thread that runs on another CPU after a share of
 * @moves / 4 of its intervals; ours takes as many samples. */
static void compare(double p, uint32_t moves, double *ret_other, double *ret_ours)
{
	struct op_off_points points = { 0 };
	struct other_rule other = { 0 };
	uint64_t budget = (uint64_t)(p * 1e9 / (2 * MEAN_NS));
	uint64_t now = 1000000000;
	uint64_t others = 0;
	uint64_t ours = 0;
	uint64_t all = 0;
	uint64_t samples = 0;
	uint64_t wrong = 0; /* of more than one interval */
	uint64_t value;
	long i;

	for (i = 0; i < INTERVALS / 4; i++) {
		uint64_t off = some_ns(MEAN_NS);

		value = other_sample(&other, (uint32_t)(p * UINT32_MAX), now, off,
				     random_u32() % 4 < moves);
		others += value;
		samples += value > 0;
		wrong += value > off;
		now += off;
		(void)op_off_adapt(&points, budget, now);
		ours += op_off_weight(&points, off);
		all += off;
		now += some_ns(MEAN_NS);
	}
	*ret_other = (double)others / (double)all;
	*ret_ours = (double)ours / (double)all;
	printf("  p %.2f, %u %% move: theirs %.4f, ours %.4f of the truth; of theirs %.1f %% "
	       "are longer than they were\n",
	       p, moves * 25, *ret_other, *ret_ours,
	       (double)wrong * 100 / (double)samples);
}

static void test_other_rule(void)
{
	static const double p[] = { 0.01, 0.03, 0.1, 0.3, 1 };
	double other;
	double ours;
	uint32_t moves;
	size_t i;

	for (i = 0; i < sizeof(p) / sizeof(p[0]); i++)
		for (moves = 0; moves <= 2; moves++) {
			compare(p[i], moves, &other, &ours);
			CHECK(ours > 0.995 && ours < 1.005);
			/* the simulated rule is what it is said to be */
			CHECK(moves || (other > p[i] * 0.98 && other < p[i] * 1.02));
		}
}

TEST_MAIN({ "sums", test_sums }, { "long", test_long_ones },
	  { "other_rule", test_other_rule })
