/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters of each kind, and the decision whether to wake user space. */
#ifndef OP_COUNT_H
#define OP_COUNT_H

#include "bpf/event/settings.h"
#include "bpf/platform/maps.h"
#include "bpf/walk/unwind.h"

/* This CPU's counters of a kind, or NULL. */
static __always_inline struct op_counts *op_counts_of(__u32 event)
{
	return bpf_map_lookup_elem(&op_counters, &event);
}

/*
 * Counters are a CPU's own, and yet an interrupt may come between the reading and the writing of
 * one, and count in it too: an I/O is asked for by a thread, and ends in an interrupt.
 */
static __always_inline void op_count_add(struct op_counts *counts, __u32 counter,
					 __u64 value)
{
	op_platform_bound(counter);
	if (counts && counter < OP_COUNTERS)
		__sync_fetch_and_add(&counts->value[counter], value);
}

static __always_inline void op_count_in(struct op_counts *counts, __u32 counter)
{
	op_count_add(counts, counter, 1);
}

/* The same where interrupts are off, so that nothing comes between. It is cheaper. */
static __always_inline void op_count_undisturbed(struct op_counts *counts, __u32 counter)
{
	op_platform_bound(counter);
	if (counts && counter < OP_COUNTERS)
		counts->value[counter] += 1;
}

/* Set a counter that is a state of this CPU and not a sum. */
static __always_inline void op_count_set(struct op_counts *counts, __u32 counter,
					 __u64 value)
{
	op_platform_bound(counter);
	if (counts && counter < OP_COUNTERS)
		counts->value[counter] = value;
}

static __always_inline void op_count(__u32 event, __u32 counter)
{
	op_count_in(op_counts_of(event), counter);
}

static __always_inline void op_count_end(struct op_counts *counts, __u32 end)
{
	if (end == OP_END_UNKNOWN)
		op_count_in(counts, OP_COUNT_UNKNOWN);
	else if (end == OP_END_NO_TABLE)
		op_count_in(counts, OP_COUNT_NO_TABLE);
	else if (end == OP_END_COMPLETE)
		op_count_in(counts, OP_COUNT_COMPLETE);
	else if (end == OP_END_TRUNCATED)
		op_count_in(counts, OP_COUNT_TRUNCATED);
	if (end < OP_ERROR_FIRST || end >= OP_ERROR_LIMIT)
		return;
	op_count_in(counts, OP_COUNT_BROKEN);
	op_count_in(counts, OP_COUNT_ERRORS + end - OP_ERROR_FIRST);
}

/* Flags for a record that is put into the ring: wake user space if much is waiting. */
static __always_inline __u64 op_ring_wakeup(void)
{
	if (bpf_ringbuf_query(&op_ring, BPF_RB_AVAIL_DATA) >= op_settings.wakeup_bytes)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

/*
 * Ticks that are lost in the programs of other perf events. The kernel runs no program of a perf
 * event inside another one on the same CPU. Since Linux 7.0 and the stable kernels of March 2026
 * (upstream c9bc1753b3cc) interrupts are off in such a program, and a tick that comes due in it
 * runs after it. Before, it is lost, and nothing tells of it. So a program notes whether the clock
 * came due in it, and the next tick counts those that have not run.
 */
static __always_inline struct op_clock *op_clock_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&op_clocks, &zero);
}

/* A program of a perf event that is no clock's ran from @begun_ns to @now. */
static __always_inline void op_clock_passed(__u64 begun_ns, __u64 now)
{
	struct op_clock *clock = op_clock_here();
	struct op_control *control = op_control();
	__u64 due;

	if (!clock || !control || !control->clock_ns)
		return;
	clock->watched = 1;
	if (!clock->last_ns || begun_ns < clock->last_ns)
		return;
	due = (now - clock->last_ns) / control->clock_ns -
	      (begun_ns - clock->last_ns) / control->clock_ns;
	if (!due)
		return;
	clock->due += due;
	clock->due_ns = now;
}

/* A tick of the kind cpu runs. Global: the verifier looks at it once. */
__attribute__((noinline)) int op_clock_ticks(void);
__attribute__((noinline)) int op_clock_ticks(void)
{
	struct op_counts *counts = op_counts_of(OP_EVENT_CPU);
	struct op_clock *clock = op_clock_here();
	struct op_control *control = op_control();
	__u64 now;

	if (!clock || !clock->watched || !control)
		return 0;
	now = bpf_ktime_get_ns();
	/* it is the one that came due, and only late */
	if (clock->due && now - clock->due_ns < control->clock_ns / 2)
		clock->due--;
	if (clock->due) {
		op_count_add(counts, OP_COUNT_TAKEN, clock->due);
		op_count_add(counts, OP_COUNT_NESTED, clock->due);
		clock->due = 0;
	}
	clock->last_ns = now;
	return 0;
}

#endif
