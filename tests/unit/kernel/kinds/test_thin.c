/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates below that of the clock (bpf/event/rules/thin.h, compiled here). Each tick has to
 * be taken with the probability of the rate's share: the first one of a rate too, and
 * those of a thread that runs at every n-th tick.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "op_control.h"
#include "random.h"
#include "test.h"

static struct op_thinning thinnings[OP_RATES_MAX];
static struct op_control in_force;

/* Stands in for what these headers have. */
#define __BPF_HELPERS__
#define OP_MAPS_H
#undef __always_inline
#define __always_inline		      inline __attribute__((always_inline))
#define bpf_map_lookup_elem(map, key) (*(key) < OP_RATES_MAX ? &thinnings[*(key)] : NULL)
#define bpf_get_prandom_u32()	      random_u32()
#define op_platform_bound(x)	      ((void)(x))
#define op_control()		      (&in_force)
#include "bpf/event/rules/thin.h"

enum {
	STARTS = 100000,
	TICKS = 1000000,
	FIRST_TICKS = 4,
	SIGMAS = 6,
};

/* Of the clock's ticks: those of rates below 999 Hz, and parts of them. */
static const double shares[] = { 899. / 999, 499. / 999, 100. / 999, 20. / 999,
				 1. / 999,   1. / 2,	 1. / 5,     1. / 10 };

static uint32_t share_of(double share)
{
	return (uint32_t)(share * 4294967296.);
}

/* Is @taken of @n what @share is, but for chance and @moved of @n? Pieces make the first
 * less than that of throws. */
static void check_share(uint64_t taken, uint64_t n, double share, double moved)
{
	double off = (double)taken - (double)n * share;

	off = (off < 0 ? -off : off) - (double)n * moved;
	if (off > 0 && off * off > SIGMAS * SIGMAS * (double)n * share * (1 - share))
		TEST_FAIL("%llu of %llu for %.4f", (unsigned long long)taken,
			  (unsigned long long)n, share);
}

/* As short recordings meet a rate: each start draws its own position. A first tick that
 * ends a piece may have that piece's point and the next one's, which is then the second
 * tick's: of all positions, a share of s * s * s / 6. It takes from a first tick alone,
 * because a later one may also get a point of the tick before it. */
static void test_first_ticks(void)
{
	size_t s;

	for (s = 0; s < OP_ARRAY_SIZE(shares); s++) {
		uint64_t taken[FIRST_TICKS] = { 0 };
		int i, at;

		for (i = 0; i < STARTS; i++) {
			memset(thinnings, 0, sizeof(thinnings));
			for (at = 0; at < FIRST_TICKS; at++)
				taken[at] += op_tick_is_due(3, share_of(shares[s]));
		}
		check_share(taken[0], STARTS,
			    shares[s] - shares[s] * shares[s] * shares[s] / 6, 0);
		/* above a half, two ticks in a row may end a piece */
		for (at = 1; at < FIRST_TICKS && shares[s] <= 0.5; at++)
			check_share(taken[at], STARTS, shares[s], 0);
	}
}

/*
 * A CPU's ticks are those of @n threads in turn. Each gets its share, and all together the
 * number of pieces. Where the same thread's tick ends each piece, all of that thread's have
 * the same two parts of pieces, u and share - u. If the points are in both, the second one is
 * the next thread's: at most of a share of (share / 2)^2 of its ticks.
 */
static void check_in_turn(uint32_t n, double share)
{
	uint64_t taken[64] = { 0 };
	uint64_t all = 0;
	double due = TICKS * share;
	bool in_step = (double)(uint64_t)(n * share) == n * share;
	double moved = in_step ? share * share / 4 : 0;
	uint32_t i;

	CHECK(n <= OP_ARRAY_SIZE(taken));
	memset(thinnings, 0, sizeof(thinnings));
	for (i = 0; i < TICKS; i++)
		taken[i % n] += op_tick_is_due(0, share_of(share));
	for (i = 0; i < n; i++) {
		check_share(taken[i], (TICKS + n - 1 - i) / n, share, moved);
		all += taken[i];
	}
	CHECK((double)all > due - 3 && (double)all < due + 3);
}

static void test_every_nth_tick(void)
{
	static const uint32_t n[] = { 1, 2, 3, 5, 7, 10, 20, 50 };
	size_t s, i;

	for (s = 0; s < OP_ARRAY_SIZE(shares); s++)
		for (i = 0; i < OP_ARRAY_SIZE(n); i++)
			check_in_turn(n[i], shares[s]);
}

/* Numbers of rates: the second list's have the positions of the first's. */
static void test_rates(void)
{
	static const uint32_t both[] = { 1, OP_RATES_MAX + 1 };
	__u64 period = 0;
	size_t n;
	int i;

	memset(thinnings, 0, sizeof(thinnings));
	memset(&in_force, 0, sizeof(in_force));
	for (n = 0; n < OP_ARRAY_SIZE(both); n++) {
		uint64_t taken = 0;

		in_force.rate[both[n]] = (UINT64_C(5) + n) << 32 | share_of(0.2);
		for (i = 0; i < STARTS; i++)
			taken += op_tick_is_taken(both[n], false, &period);
		CHECK_INT(period, 5 + n);
		check_share(taken, STARTS, 0.2, 0);
		for (i = 0; i < STARTS; i++) /* it stands for many */
			CHECK(op_tick_is_taken(both[n], true, &period));
	}
	in_force.rate[2] = UINT64_C(4) << 32; /* the clock's */
	for (i = 0; i < STARTS; i++)
		CHECK(op_tick_is_taken(2, false, &period));
	CHECK_INT(period, 4);
	CHECK_INT(thinnings[2].begun, 0);
}

TEST_MAIN({ "first_ticks", test_first_ticks }, { "every_nth_tick", test_every_nth_tick },
	  { "rates", test_rates })
