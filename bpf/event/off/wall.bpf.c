/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Wall-clock time off the CPUs, as in off_cpu.bpf.c. The time on the CPUs is in
 * wall_tick.bpf.c. */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/off/off.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

SEC("raw_tp")
int op_wall(void *ctx)
{
	return op_off_sample(ctx, OP_EVENT_WALL, false);
}

SEC("raw_tp")
int op_wall_whole(void *ctx)
{
	return op_off_sample(ctx, OP_EVENT_WALL, true);
}

SEC("raw_tp/sched_switch")
int op_wall_switched(struct bpf_raw_tracepoint_args *ctx)
{
	op_off_switch(OP_EVENT_WALL, ctx->args, false);
	return 0;
}
