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

#include "op_types.h"

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

/* Count one more hit on this CPU. Returns how many hits it stands for if it is kept, or
 * 0. @most: samples in a second. */
static __always_inline __u32 op_rate_keep(__u32 most)
{
	__u32 zero = 0;
	struct op_rate *rate = bpf_map_lookup_elem(&op_rates, &zero);
	__u64 now = bpf_ktime_get_ns();

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

#endif
