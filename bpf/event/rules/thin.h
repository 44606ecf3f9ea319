/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rates below that of the clock. Each tick has a length, the rate's share of the
 * clock's ticks. The ticks of one rate on one CPU are laid end to end and cut into
 * pieces of length 1, each with a random point. A tick that contains a point is taken.
 * So each tick is taken with the probability of its share, whichever thread runs, and a
 * thread that runs at every n-th tick is neither always missed nor always hit. There is
 * less noise than from an independent random choice for each tick.
 */
#ifndef OP_THIN_H
#define OP_THIN_H

#include <bpf/bpf_helpers.h>

#include "bpf/platform/maps.h"

/* Is this tick of rate @number taken? @share is the rate's share, in units of 2^-32. */
static __always_inline bool op_tick_is_due(__u32 number, __u32 share)
{
	struct op_thinning *t = bpf_map_lookup_elem(&op_thinnings, &number);
	__u32 points;
	__u32 next;

	if (!t)
		return true;
	/* begin in the middle of a piece: otherwise the first tick would be taken */
	if (!t->begun) {
		t->begun = 1;
		t->at = bpf_get_prandom_u32();
		t->point = bpf_get_prandom_u32();
	}
	points = t->owed;
	next = t->at + share;
	if (next > t->at) {
		points += t->point >= t->at && t->point < next;
	} else {
		points += t->point >= t->at;
		t->point = bpf_get_prandom_u32();
		points += t->point < next;
	}
	t->at = next;
	t->owed = points ? points - 1 : 0;
	return points;
}

/* Is a tick of rate @number of op_control taken? If it stands for @many, it is. *@ret_period
 * is the period of the rate. */
static __always_inline bool op_tick_is_taken(__u32 number, bool many, __u64 *ret_period)
{
	struct op_control *control = op_control();
	__u64 rate;

	op_platform_bound(number);
	if (!control || number >= 2 * OP_RATES_MAX)
		return true;
	rate = control->rate[number];
	*ret_period = rate >> 32;
	return many || !(__u32)rate || op_tick_is_due(number % OP_RATES_MAX, (__u32)rate);
}

#endif
