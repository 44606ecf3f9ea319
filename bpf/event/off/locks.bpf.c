/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits for locks: intervals in futex(2) that threads spend off the CPUs. User programs
 * in any language wait for locks with futex(2). Each interval is a contention, and its
 * length is the delay.
 */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/off/contention.h"
#include "bpf/event/off/off.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

static __always_inline int op_lock(void *ctx, bool whole)
{
	struct op_off_cpu *cpu;
	struct op_slot *slot = op_off_begin(OP_EVENT_LOCKS, &cpu);

	if (!slot)
		return 0;
	slot->record.value = op_contention(cpu->value, cpu->length_ns);
	slot->record.detail = OP_LOCK_FUTEX;
	return op_event_task(ctx, slot, whole);
}

SEC("raw_tp")
int op_locks(void *ctx)
{
	return op_lock(ctx, false);
}

SEC("raw_tp")
int op_locks_whole(void *ctx)
{
	return op_lock(ctx, true);
}

SEC("raw_tp/sched_switch")
int op_locks_switched(struct bpf_raw_tracepoint_args *ctx)
{
	op_off_switch(OP_EVENT_LOCKS, ctx->args, true);
	return 0;
}

SEC("raw_tp/sched_waking")
int op_locks_woken(struct bpf_raw_tracepoint_args *ctx)
{
	op_off_woken((struct task_struct *)ctx->args[0]);
	return 0;
}
