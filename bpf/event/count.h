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
 * Each CPU has its own counters. An interrupt may still come between reading and
 * writing one, and count, too: a thread starts an I/O, and an interrupt ends it. Where
 * programs do not interrupt each other, a plain addition is cheaper.
 */
static __always_inline void op_count_add(struct op_counts *counts, __u32 counter,
					 __u64 value)
{
	op_platform_bound(counter);
	if (!counts || counter >= OP_COUNTERS)
		return;
	if (op_settings.slot_alone)
		counts->value[counter] += value;
	else
		__sync_fetch_and_add(&counts->value[counter], value);
}

static __always_inline void op_count_in(struct op_counts *counts, __u32 counter)
{
	op_count_add(counts, counter, 1);
}

/* The same with interrupts off, where this is impossible. It is cheaper. */
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

/* Are @eighths of the ring full? */
static __always_inline bool op_ring_has(__u64 eighths)
{
	return bpf_ringbuf_query(&op_ring, BPF_RB_AVAIL_DATA) * 2 >=
	       eighths * op_settings.wakeup_bytes;
}

#endif
