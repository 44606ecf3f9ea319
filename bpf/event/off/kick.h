/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests the interrupt of irq_work on this CPU, by a record in a ring with a forced
 * wake-up. It comes as soon as interrupts are on. User space discards the records.
 *
 * If two CPUs write to one ring at the same time, only one interrupt comes, and one CPU
 * waits in vain. So neighbouring CPUs have different rings.
 */
#ifndef OP_KICK_H
#define OP_KICK_H

#include <bpf/bpf_helpers.h>

#include "bpf/platform/kernel.h"
#include "op_events.h"

/* an interrupt later than this is not the requested one */
#define OP_KICK_LATE_NS 1000000ULL

struct op_kicks {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries,
	       65536); /* bytes; user space sets them by the budget of samples */
};
struct op_kicks op_kicks_0 SEC(".maps");
struct op_kicks op_kicks_1 SEC(".maps");
struct op_kicks op_kicks_2 SEC(".maps");
struct op_kicks op_kicks_3 SEC(".maps");

static __always_inline long op_kick_by(void *ring)
{
	__u64 nothing = 0;

	return bpf_ringbuf_output(ring, &nothing, sizeof(nothing), BPF_RB_FORCE_WAKEUP);
}

/* Request the interrupt. Returns 0, or a negative number if the ring is full. */
static __always_inline long op_kick(void)
{
	__u32 ring = bpf_get_smp_processor_id() % OP_KICK_RINGS;

	if (ring == 0)
		return op_kick_by(&op_kicks_0);
	if (ring == 1)
		return op_kick_by(&op_kicks_1);
	if (ring == 2)
		return op_kick_by(&op_kicks_2);
	return op_kick_by(&op_kicks_3);
}

#endif
