/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kind cpu: a sample for each tick of the CPU's clock event. */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/event.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

static __always_inline int op_tick(struct bpf_perf_event_data *ctx, bool whole)
{
	struct op_slot *slot;

	(void)op_clock_ticks();
	if (!op_settings.keep_idle && (__u32)bpf_get_current_pid_tgid() == 0) {
		op_count(OP_EVENT_CPU, OP_COUNT_TAKEN);
		op_count(OP_EVENT_CPU, OP_COUNT_IDLE);
		return 0;
	}
	slot = op_event_tick(OP_EVENT_CPU);
	return slot ? op_event_perf(ctx, slot, whole) : 0;
}

SEC("perf_event")
int op_cpu(struct bpf_perf_event_data *ctx)
{
	return op_tick(ctx, false);
}

SEC("perf_event")
int op_cpu_whole(struct bpf_perf_event_data *ctx)
{
	return op_tick(ctx, true);
}
