/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The idle time of each CPU, as samples of the kind cpu: from the switches to and from the
 * idle task, because an idle CPU may have no clock ticks. When a CPU stops being idle, or
 * a window ends, one sample stands for the whole periods that have passed. The rest
 * belongs to the next one.
 */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/event.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

struct op_idle_cpu {
	__u64 since_ns; /* 0: it is not idle, or not known to be */
	__u64 time_ns;	/* idle time without a sample */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct op_idle_cpu);
} op_idle_cpus SEC(".maps");

/* The idle task is current. */
static __always_inline int op_idle_sample(void *ctx, struct op_idle_cpu *cpu, __u64 now)
{
	struct op_slot *slot = op_event_ticks(OP_EVENT_CPU, now);
	long kernel_bytes = 0;
	__u64 period_ns;
	__u64 hits;

	if (!slot) {
		cpu->time_ns = 0; /* left out or lost, and counted */
		return 0;
	}
	period_ns = slot->record.value;
	hits = period_ns ? cpu->time_ns / period_ns : 0;
	if (!hits) { /* of a rate below that of the clock */
		op_count(OP_EVENT_CPU, OP_COUNT_FILTERED);
		op_count(OP_EVENT_CPU, OP_COUNT_THINNED);
		op_slot_release(slot);
		return 0;
	}
	cpu->time_ns -= hits * period_ns;
	hits *= slot->record.hits;
	slot->record.hits = hits >> 32 ? ~0u : (__u32)hits;
	if (op_settings.kernel_stacks)
		kernel_bytes =
			bpf_get_stack(ctx, slot->word, OP_KERNEL_FRAMES_MAX * 8, 0);
	op_event_kernel(slot, kernel_bytes);
	slot->unwind.end = OP_END_NO_USER;
	return op_finish(slot);
}

/* User space runs it without a next task on each CPU, too: when sampling begins, and when
 * a window ends. */
SEC("raw_tp/sched_switch")
int op_idle_switched(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *next = (struct task_struct *)ctx->args[2];
	bool was_idle = op_is_idle(op_current_task());
	bool is_idle = next ? !BPF_CORE_READ(next, pid) : was_idle;
	struct op_control *control = op_control();
	__u64 now = bpf_ktime_get_ns();
	struct op_idle_cpu *cpu;
	__u32 zero = 0;

	cpu = bpf_map_lookup_elem(&op_idle_cpus, &zero);
	if (!cpu || !control)
		return 0;
	if (was_idle && cpu->since_ns)
		cpu->time_ns += now - cpu->since_ns;
	cpu->since_ns = is_idle ? now : 0;
	if (!was_idle || cpu->time_ns < control->clock_ns)
		return 0;
	return op_idle_sample(ctx, cpu, now);
}
