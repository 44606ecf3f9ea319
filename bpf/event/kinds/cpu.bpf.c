/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kind cpu: a sample at a random moment of each interval of the CPU's clock. Idle time
 * is in idle.bpf.c. */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/clock.h"
#include "bpf/event/event.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

static __always_inline int op_tick(struct bpf_perf_event_data *ctx, bool whole)
{
	__u64 now = bpf_ktime_get_ns();
	struct op_slot *slot;

	if (!op_clock_is_due(OP_CLOCK_CPU, now))
		return 0;
	if (op_is_idle(op_current_task()))
		return 0;
	slot = op_event_tick(OP_EVENT_CPU, now);
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
