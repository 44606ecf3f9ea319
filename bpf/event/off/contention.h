/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The value of a sample that stands for waits for locks. */
#ifndef OP_CONTENTION_H
#define OP_CONTENTION_H

#include "bpf/event/off/points.h"
#include "op_events.h"

/* The value of a wait of @length ns that stands for @weight ns. The number of waits that
 * it stands for is rounded at random so that sums are right. */
static __always_inline __u64 op_contention(__u64 weight, __u64 length)
{
	__u64 count;

	if (!length)
		length = 1;
	count = weight == length ? 1 : (weight + op_off_random(length)) / length;
	if (count > OP_LOCKS_COUNT_MAX)
		count = OP_LOCKS_COUNT_MAX;
	if (weight > OP_LOCKS_DELAY_MAX)
		weight = OP_LOCKS_DELAY_MAX;
	return weight | count << OP_LOCKS_COUNT_SHIFT;
}

#endif
