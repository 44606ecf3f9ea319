/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The clock of kinds that sample by time. The time of each CPU is divided into
 * intervals, one for each sample, with a random moment in each. The first tick after
 * that moment is taken. There are up to half as many ticks again, and user space draws a
 * new period for them every few intervals (lib/kernel/clock.c), so that ticks are not in
 * step with a program's timer either. The lengths of the intervals differ a little, because
 * a program's period may be equal to their mean.
 */
#ifndef OP_EVENT_CLOCK_H
#define OP_EVENT_CLOCK_H

#include <bpf/bpf_helpers.h>

#include "bpf/event/settings.h"
#include "bpf/platform/maps.h"

/* Draw the moment of the next interval. The high bits of the random number are its
 * position, and the low ones the length of the interval. */
static __always_inline void op_clock_draw(struct op_clock *clock, __u64 mean_ns)
{
	__u64 random = bpf_get_prandom_u32();
	__u64 length = mean_ns - mean_ns / 8 + ((random & 0xffff) * (mean_ns / 4) >> 16);

	clock->point_ns = clock->end_ns + (random * length >> 32); /* length < 2^32 */
	clock->end_ns += length;
}

/*
 * Returns the time of the clock at a tick. It advances by one period at each tick, and
 * stands while the kernel sends none: it throttles them, the host has taken the CPU, or
 * on some kernels the CPU is idle. The time between two ticks would be wrong: a host may
 * wake an idle CPU late, and the next tick then comes soon, in the thread for which the
 * CPU woke. Only the first tick of a new period counts the time since the last tick.
 */
static __always_inline __u64 op_clock_advance(struct op_clock *clock, __u64 now,
					      __u64 tick_ns)
{
	__u64 before_ns = clock->tick_ns;
	__u64 passed_ns = now - clock->last_ns;
	__u64 off_ns =
		passed_ns > before_ns ? passed_ns - before_ns : before_ns - passed_ns;
	__u64 jitter_ns = tick_ns / 16;

	clock->last_ns = now;
	if (off_ns > jitter_ns) /* else the old period may still last */
		clock->tick_ns = tick_ns;
	if (before_ns == tick_ns || passed_ns > before_ns + tick_ns + jitter_ns)
		passed_ns = tick_ns;
	clock->now_ns += passed_ns;
	return clock->now_ns;
}

/*
 * Is this tick of clock @number, at @now, taken? Ticks of the idle task must ask, too,
 * because the moment of an idle CPU does not belong to the next thread. Two moments
 * before one tick are taken by the next ticks, one each.
 */
static __always_inline bool op_clock_is_due(__u32 number, __u64 now)
{
	struct op_clock *clock = bpf_map_lookup_elem(&op_clocks, &number);
	struct op_control *control = op_control();
	__u64 mean_ns;

	if (!clock || !control)
		return true;
	mean_ns = control->clock_ns;
	now = op_clock_advance(clock, now, control->tick_ns);
	/* the first interval, or one of a much lower rate */
	if (!clock->end_ns || clock->point_ns > now + 2 * mean_ns) {
		clock->end_ns = now - control->tick_ns;
		op_clock_draw(clock, mean_ns);
	}
	if (now < clock->point_ns)
		return false;
	op_clock_draw(clock, mean_ns);
	return true;
}

#endif
