/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes: places in programs and in the kernel that a user names. One copy of this
 * program is loaded for each probe, with the program type that its place needs;
 * op_settings.detail is the probe's number. For the stack the program does not use its
 * context: user registers are those that the kernel saved at its entry, which at a breakpoint
 * in a program are the ones there. The value of a probe that has one stands in the context:
 * registers, or the arguments of a tracepoint.
 *
 * Events of perf have a program of their own, whose value is how many events the sample
 * stands for.
 */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/argument.h"
#include "bpf/event/event.h"
#include "bpf/event/rate.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

/* Begin a sample, or return NULL. */
static __always_inline struct op_slot *op_hit_begin(void)
{
	struct op_counts *counts = op_counts_of(OP_EVENT_PROBES);
	struct op_slot *slot;
	bool filtered;
	__u32 hits;

	op_count_in(counts, OP_COUNT_TAKEN);
	slot = op_event_enter(counts, OP_EVENT_PROBES, false, &filtered);
	if (!slot)
		return NULL;
	/* The limit comes after the filter, so that samples that the filter leaves out do
	 * not count. */
	hits = op_rate_keep(op_settings.event_budget);
	slot->record.hits *= hits;
	if (hits)
		return slot;
	op_count_in(counts, OP_COUNT_FILTERED);
	op_slot_release(slot);
	return NULL;
}

static __always_inline int op_hit(void *ctx, bool whole)
{
	struct op_slot *slot = op_hit_begin();

	if (!slot)
		return 0;
	if (op_settings.argument[0].bytes)
		slot->record.value = op_argument_read((__u64)ctx, 0);
	return op_event_task(ctx, slot, whole);
}

/* The count of this program's event on a CPU, at its last sample. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} op_perf_counts SEC(".maps");

/* How many events have passed since the last sample, this one among them. At a rate the period
 * in the context is the one that the kernel has just chosen, and no event has come by it yet. */
static __always_inline __u64 op_perf_passed(struct bpf_perf_event_data *ctx)
{
	struct bpf_perf_event_value now = { 0 };
	__u32 zero = 0;
	__u64 *last = bpf_map_lookup_elem(&op_perf_counts, &zero);
	__u64 passed;

	if (!last || bpf_perf_prog_read_value(ctx, &now, sizeof(now)))
		return ctx->sample_period;
	passed = now.counter - *last;
	*last = now.counter;
	return passed;
}

static __always_inline int op_counted(struct bpf_perf_event_data *ctx, bool whole)
{
	/* the event's count is asked for where the kernel changes the period */
	__u64 passed =
		op_settings.argument[0].bytes ? op_perf_passed(ctx) : ctx->sample_period;
	struct op_slot *slot;

	if (!op_settings.keep_idle && (__u32)bpf_get_current_pid_tgid() == 0) {
		op_count(OP_EVENT_PROBES, OP_COUNT_TAKEN);
		op_count(OP_EVENT_PROBES, OP_COUNT_IDLE);
		return 0;
	}
	slot = op_hit_begin();
	if (!slot)
		return 0;
	slot->record.value = passed;
	return op_event_perf(ctx, slot, whole);
}

SEC("perf_event")
int op_perf(struct bpf_perf_event_data *ctx)
{
	return op_counted(ctx, false);
}

SEC("perf_event")
int op_perf_whole(struct bpf_perf_event_data *ctx)
{
	return op_counted(ctx, true);
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
