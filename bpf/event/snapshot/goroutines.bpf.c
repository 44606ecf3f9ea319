/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The processes for a snapshot of goroutines: an iterator over the tasks, which user
 * space reads. For each process that the rules keep it writes a record without a stack.
 * User space then reads the goroutines from the memory of processes that run Go.
 */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/snapshot/snapshot.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

SEC("iter/task")
int op_goroutines(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct op_record r;

	if (!task || !op_is_user_thread(task) ||
	    BPF_CORE_READ(task, pid) != BPF_CORE_READ(task, tgid))
		return 0;
	__builtin_memset(&r, 0, sizeof(r));
	r.time_ns = bpf_ktime_get_ns();
	/* up to the zero byte: an earlier name may follow it */
	bpf_probe_read_kernel_str(r.comm, sizeof(r.comm), &task->comm);
	if (!op_ids_of(task, &r) || !op_rules_keep(&r, task))
		return 0;
	r.header.type = OP_RECORD_SAMPLE;
	r.header.version = OP_RECORD_VERSION;
	r.header.bytes = sizeof(r);
	r.event = OP_EVENT_GOROUTINES;
	r.cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	r.end = OP_END_OFF;
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}
