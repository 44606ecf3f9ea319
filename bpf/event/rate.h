/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A limit on the samples of a program per second and CPU. */
#ifndef OP_RATE_H
#define OP_RATE_H

#include <bpf/bpf_helpers.h>

#include "op_types.h"

#define OP_RATE_SECOND_NS 1000000000ULL

/* The number of samples that a CPU has taken since `since_ns`. */
struct op_rate {
	__u64 since_ns;
	__u64 taken;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct op_rate);
} op_rates SEC(".maps");

/* Count one more sample on this CPU. Returns false if it exceeds @most per second. */
static __always_inline bool op_within_rate(__u32 most)
{
	__u32 zero = 0;
	struct op_rate *rate = bpf_map_lookup_elem(&op_rates, &zero);
	__u64 now = bpf_ktime_get_ns();

	if (!rate)
		return false;
	if (now - rate->since_ns >= OP_RATE_SECOND_NS) {
		rate->since_ns = now;
		rate->taken = 0;
	}
	return rate->taken++ < most;
}

#endif
