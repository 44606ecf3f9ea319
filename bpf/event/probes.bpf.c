/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes: places in programs and in the kernel that a user names. One copy of this
 * program is loaded for each probe, with the program type that its place needs;
 * op_settings.detail is the probe's number. The program does not use its context: user
 * registers are those that the kernel saved at its entry, which at a breakpoint in a
 * program are the ones there.
 */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/event.h"
#include "bpf/event/rate.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

static __always_inline int op_hit(void *ctx, bool whole)
{
	struct op_counts *counts = op_counts_of(OP_EVENT_PROBES);
	struct op_slot *slot;
	bool filtered;

	op_count_in(counts, OP_COUNT_TAKEN);
	slot = op_event_enter(counts, OP_EVENT_PROBES, false, &filtered);
	if (!slot)
		return 0;
	/* The limit comes after the filter, so that samples that the filter leaves out do
	 * not count. */
	if (!op_within_rate(op_settings.event_budget)) {
		op_count_in(counts, OP_COUNT_FILTERED);
		op_slot_release(slot);
		return 0;
	}
	return op_event_task(ctx, slot, whole);
}

SEC("kprobe")
int op_probes(void *ctx)
{
	return op_hit(ctx, false);
}

SEC("kprobe")
int op_probes_whole(void *ctx)
{
	return op_hit(ctx, true);
}
