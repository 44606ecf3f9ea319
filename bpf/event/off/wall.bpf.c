/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Wall-clock time, the part off the CPUs: as off_cpu.bpf.c. The other is wall_tick.bpf.c. */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/off/off.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

static __always_inline int op_wall_off(void *ctx, bool whole)
{
	struct op_off_cpu *cpu;
	struct op_slot *slot = op_off_begin(OP_EVENT_WALL, &cpu);

	if (!slot)
		return 0;
	slot->record.value = cpu->value;
	slot->record.detail = (__u16)op_off_reason(op_current_task(), cpu->how);
	return op_event_task(ctx, slot, whole);
}

SEC("raw_tp")
int op_wall(void *ctx)
{
	return op_wall_off(ctx, false);
}

SEC("raw_tp")
int op_wall_whole(void *ctx)
{
	return op_wall_off(ctx, true);
}

SEC("raw_tp/sched_switch")
int op_wall_switched(struct bpf_raw_tracepoint_args *ctx)
{
	op_off_switch(OP_EVENT_WALL, ctx->args, false);
	return 0;
}
