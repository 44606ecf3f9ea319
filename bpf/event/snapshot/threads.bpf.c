/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Iterators over all threads, which user space reads.
 *
 * Snapshots: for each thread the kernel stack and the user registers. User space reads
 * the memory and walks the stacks, and then asks a second program which threads have run
 * since.
 *
 * Threads that already wait when a kind of off/ is attached.
 */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/off/off.h"
#include "bpf/event/snapshot/snapshot.h"
#include "bpf/walk/registers.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

/* A thread as it is written: the record, its words, its registers. */
struct op_thread_out {
	struct op_record record;
	__u64 word[OP_KERNEL_FRAMES_MAX];
	struct op_registers registers;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct op_thread_out);
} op_threads_out SEC(".maps");

__u32 op_threads_noted; /* by op_threads_begun() */

static __always_inline __u64 op_switches(struct task_struct *task)
{
	return (__u64)BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
}

static __always_inline __u32 op_thread_state(struct task_struct *task)
{
	__u32 state = op_task_state(task);

	if (op_on_cpu(task))
		return OP_THREAD_RUNNING;
	if (!state)
		return OP_THREAD_RUNNABLE;
	if (state & OP_TASK_INTERRUPTIBLE)
		return OP_THREAD_SLEEPING;
	return state & OP_TASK_STOPPED ? OP_THREAD_STOPPED : OP_THREAD_UNINTERRUPTIBLE;
}

static __always_inline void op_fill(struct op_thread_out *out, struct task_struct *task)
{
	struct op_record *r = &out->record;
	long bytes = 0;

	r->event = OP_EVENT_THREADS;
	r->value = op_switches(task);
	r->detail = (__u16)op_thread_state(task);
	r->cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	r->end = OP_END_UNKNOWN;
	if (r->detail == OP_THREAD_RUNNING)
		return;
	if (op_settings.kernel_stacks)
		bytes = bpf_get_task_stack(task, out->word, sizeof(out->word), 0);
	if (bytes > 0)
		r->kernel_count = (__u16)(bytes / 8);
	op_saved_registers(task, &out->registers);
	out->registers.thread_pointer = op_thread_pointer_of(task);
}

SEC("iter/task")
int op_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct seq_file *seq = ctx->meta->seq;
	struct op_thread_out *out;
	struct op_record *r;
	__u32 zero = 0;
	__u32 words;

	if (!task || !op_is_user_thread(task))
		return 0;
	out = bpf_map_lookup_elem(&op_threads_out, &zero);
	if (!out)
		return 0;
	r = &out->record;
	__builtin_memset(r, 0, sizeof(*r));
	r->time_ns = bpf_ktime_get_ns();
	/* up to the zero byte: an earlier name may follow it */
	bpf_probe_read_kernel_str(r->comm, sizeof(r->comm), &task->comm);
	if (!op_ids_of(task, r) || !op_rules_keep(r, task))
		return 0;
	op_fill(out, task);
	words = r->kernel_count;
	op_platform_bound(words);
	if (words > OP_KERNEL_FRAMES_MAX)
		words = OP_KERNEL_FRAMES_MAX;
	r->header.type = OP_RECORD_SAMPLE;
	r->header.version = OP_RECORD_VERSION;
	r->header.bytes = sizeof(*r) + words * 8 + sizeof(out->registers);
	/* If the record does not fit, the kernel calls the program again at the next
	 * read. */
	bpf_seq_write(seq, r, sizeof(*r));
	bpf_seq_write(seq, out->word, words * 8);
	bpf_seq_write(seq, &out->registers, sizeof(out->registers));
	return 0;
}

SEC("iter/task")
int op_threads_now(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct op_record r;
	struct op_thread_now now;

	if (!task || !op_is_user_thread(task) || !op_ids_of(task, &r))
		return 0;
	now.switches = op_switches(task);
	now.started_ns = BPF_CORE_READ(task, start_time);
	now.tid = r.tid;
	now.host_tid = (__u32)BPF_CORE_READ(task, pid);
	now.running = op_on_cpu(task);
	now.reason = op_off_reason(task, op_off_how(task, false, op_task_state(task)),
				   op_saved_syscall(task));
	bpf_seq_write(ctx->meta->seq, &now, sizeof(now));
	return 0;
}

/* Note a thread that is off the CPUs, as op_off_leave() would have done. Its wait counts
 * from now. op_settings.detail is the kind, and event_budget the most threads. */
SEC("iter/task")
int op_threads_begun(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct op_off_thread fresh = { 0 };
	__u32 tid;
	__s32 call;

	if (!task || !op_is_user_thread(task) || op_on_cpu(task) ||
	    op_threads_noted >= op_settings.event_budget)
		return 0;
	fresh.how = (__u16)op_off_how(task, false, op_task_state(task));
	call = op_saved_syscall(task);
	if (op_settings.detail == OP_EVENT_LOCKS &&
	    !(fresh.how == OP_OFF_SLEEP && op_is_futex(call)))
		return 0;
	if (op_settings.detail == OP_EVENT_WAKERS && fresh.how != OP_OFF_READY)
		fresh.call = (__s16)call;
	fresh.left_ns = bpf_ktime_get_ns();
	tid = (__u32)BPF_CORE_READ(task, pid);
	/* One that has come back and left since the kind was attached is there. */
	if (!bpf_map_update_elem(&op_off_threads, &tid, &fresh, BPF_NOEXIST))
		op_threads_noted++;
	return 0;
}
