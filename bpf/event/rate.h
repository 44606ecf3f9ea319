/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A limit on the samples of a program per second and CPU that keeps sums right. As long
 * as hits are few, all are taken. If there are more, they are counted in blocks of
 * equal length. A random hit of each block is taken, and stands for the block. Blocks
 * grow while a second has too many hits. The blocks of the next second begin with a
 * length that fits that second's number of hits. So the choice depends only on the
 * number of hits, and not on what they are.
 */
#ifndef OP_RATE_H
#define OP_RATE_H

#include <bpf/bpf_helpers.h>

#include "bpf/event/event.h"

#define OP_RATE_SECOND_NS 1000000000ULL

enum {
	/* After as many samples as a second may have, blocks double in length with each
	 * further 1 / OP_RATE_PARTS of that number. */
	OP_RATE_PARTS = 8,
};

/* A CPU. */
struct op_rate {
	__u64 since_ns; /* when this second began */
	__u64 hits;	/* in it */
	__u32 kept;	/* in it */
	__u32 grow_at;	/* blocks double in length after so many samples */
	__u32 length;	/* length of the next block */
	__u32 block;	/* hits of this block */
	__u32 at;	/* hits of it that have passed */
	__u32 pick;	/* number of the hit that is kept */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct op_rate);
} op_rates SEC(".maps");

/* A second begins, in which @most samples may be kept. */
static __always_inline void op_rate_second(struct op_rate *rate, __u32 most, __u64 now)
{
	__u64 length = (rate->hits + most - 1) / most;

	if (now - rate->since_ns >= 2 * OP_RATE_SECOND_NS)
		length = 1;
	rate->length = length >> 30 ? 1u << 30 : (__u32)length;
	rate->since_ns = now;
	rate->hits = 0;
	rate->kept = 0;
	rate->grow_at = most;
}

/* Begin a block. */
static __always_inline void op_rate_block(struct op_rate *rate)
{
	rate->block = rate->length ? rate->length : 1;
	rate->at = 0;
	rate->pick = (__u32)((__u64)bpf_get_prandom_u32() * rate->block >> 32);
}

/* Count one more hit on this CPU, at @now. Returns how many hits it stands for if it is
 * kept, or 0. @most: samples in a second. */
static __always_inline __u32 op_rate_keep(__u32 most, __u64 now)
{
	__u32 zero = 0;
	struct op_rate *rate = bpf_map_lookup_elem(&op_rates, &zero);

	if (!rate || !most)
		return 0;
	if (now - rate->since_ns >= OP_RATE_SECOND_NS)
		op_rate_second(rate, most, now);
	if (rate->at >= rate->block)
		op_rate_block(rate);
	rate->hits++;
	if (rate->at++ != rate->pick)
		return 0;
	if (++rate->kept >= rate->grow_at && !(rate->length >> 30)) {
		rate->length *= 2;
		rate->grow_at += most / OP_RATE_PARTS + 1;
	}
	return rate->block;
}

/*
 * Count an event of kind @event, and begin its sample if the limit keeps it. Its hits are
 * those that it stands for. Hits that rules leave out do not count for the limit. If no
 * rule is in force, the limit decides first, because most hits of a busy probe end there.
 */
static __always_inline struct op_slot *op_rate_begin(__u32 event)
{
	struct op_counts *counts = op_counts_of(event);
	__u64 now = bpf_ktime_get_ns();
	bool all = op_rules_keep_all();
	struct op_slot *slot;
	bool filtered;
	__u32 hits;

	op_count_in(counts, OP_COUNT_TAKEN);
	hits = all ? op_rate_keep(op_settings.event_budget, now) : 1;
	if (!hits) {
		op_count_in(counts, OP_COUNT_FILTERED);
		return NULL;
	}
	slot = op_event_enter_as(counts, event, false, OP_TICKS_NONE, now, &filtered);
	if (!slot)
		return NULL;
	if (!all)
		hits = op_rate_keep(op_settings.event_budget, now);
	slot->record.hits *= hits;
	if (hits)
		return slot;
	op_count_in(counts, OP_COUNT_FILTERED);
	op_slot_release(slot);
	return NULL;
}

#endif
