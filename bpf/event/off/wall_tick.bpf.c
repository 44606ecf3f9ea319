/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Wall-clock time on the CPUs: each sample of a CPU's clock stands for its period. */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/clock.h"
#include "bpf/event/event.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

static __always_inline int op_wall_on(struct bpf_perf_event_data *ctx, bool whole)
{
	__u64 now = bpf_ktime_get_ns();
	struct op_slot *slot;

	if (!op_clock_is_due(OP_CLOCK_WALL, now) || op_is_idle(op_current_task()))
		return 0;
	slot = op_event_tick(OP_EVENT_WALL, now);
	if (!slot)
		return 0;
	slot->record.detail = OP_REASON_NONE;
	return op_event_perf(ctx, slot, whole);
}

SEC("perf_event")
int op_wall_tick(struct bpf_perf_event_data *ctx)
{
	return op_wall_on(ctx, false);
}

SEC("perf_event")
int op_wall_tick_whole(struct bpf_perf_event_data *ctx)
{
	return op_wall_on(ctx, true);
}
