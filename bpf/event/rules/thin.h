/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rates below the clock's. The ticks of a rate on a CPU are laid end to end, each as long as its
 * share of the clock's, and cut in pieces of length 1 with a random point in each: the ticks
 * that hold a point are taken. So each tick is taken with the probability of its share, whoever
 * runs, and nobody that runs at every n-th tick is missed or hit each time; with less noise
 * than by a throw of dice for each.
 */
#ifndef OP_THIN_H
#define OP_THIN_H

#include <bpf/bpf_helpers.h>

#include "bpf/platform/maps.h"

/* Is this tick of rate @number, whose share is @share of 2^32, to be taken? */
static __always_inline bool op_tick_is_due(__u32 number, __u32 share)
{
	struct op_thinning *t = bpf_map_lookup_elem(&op_thinnings, &number);
	__u32 points;
	__u32 next;

	if (!t)
		return true;
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

/* Is a tick of rate @number to be taken? Then *@ret_period is its period. */
static __always_inline bool op_tick_is_taken(__u32 number, __u64 *ret_period)
{
	struct op_control *control = op_control();
	__u64 rate;

	op_platform_bound(number);
	if (!control || number >= OP_RATES_MAX)
		return true;
	rate = control->rate[number];
	*ret_period = rate >> 32;
	return !(__u32)rate || op_tick_is_due(number, (__u32)rate);
}

#endif
