/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time off the CPUs: where threads wait, and for how long (off.h). */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/off/off.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

SEC("raw_tp")
int op_off_cpu(void *ctx)
{
	return op_off_sample(ctx, OP_EVENT_OFF_CPU, false);
}

SEC("raw_tp")
int op_off_cpu_whole(void *ctx)
{
	return op_off_sample(ctx, OP_EVENT_OFF_CPU, true);
}

SEC("raw_tp/sched_switch")
int op_off_switched(struct bpf_raw_tracepoint_args *ctx)
{
	op_off_switch(OP_EVENT_OFF_CPU, ctx->args, false);
	return 0;
}

SEC("raw_tp/sched_waking")
int op_off_cpu_woken(struct bpf_raw_tracepoint_args *ctx)
{
	op_off_woken((struct task_struct *)ctx->args[0]);
	return 0;
}
