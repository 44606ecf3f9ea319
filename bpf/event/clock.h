/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The clock of kinds that sample by time. The time of each CPU is divided into
 * intervals, one for each sample, with a random moment in each. The first tick after
 * that moment is taken. There are up to twice as many ticks, and user space draws a new
 * period for them every few intervals (lib/kernel/clock.c), so that ticks are not in step
 * with a program's timer either. The lengths of the intervals differ a little, because
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
 * The clock stops while the kernel sends no ticks: it throttles them, the host has
 * taken the CPU, or on some kernels the CPU is idle. The first tick after that counts
 * only the time since the last tick that was due. The host may wake an idle CPU late, with
 * a thread that was not on it: there a sixteenth of a tick is late.
 */
static __always_inline void op_clock_stand(struct op_clock *clock, __u64 now,
					   __u64 tick_ns)
{
	/* a new period begins when it is set, between two ticks */
	__u64 before_ns = clock->tick_ns[0] > clock->tick_ns[1] ? clock->tick_ns[0]
								: clock->tick_ns[1];
	bool changed = clock->tick_ns[0] != tick_ns || clock->tick_ns[1] != tick_ns;
	bool idle = !(__u32)bpf_get_current_pid_tgid();
	__u64 late_ns = idle ? tick_ns / 16 : tick_ns / 2;
	__u64 most_ns = tick_ns + (changed ? before_ns : 0) + late_ns;
	__u64 stood_ns = now - clock->last_ns - tick_ns;

	if (now - clock->last_ns > most_ns) {
		clock->point_ns += stood_ns;
		clock->end_ns += stood_ns;
	}
	clock->last_ns = now;
	clock->tick_ns[1] = clock->tick_ns[0];
	clock->tick_ns[0] = tick_ns;
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
	op_clock_stand(clock, now, control->tick_ns);
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
