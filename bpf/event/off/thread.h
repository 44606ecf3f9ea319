/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Threads that are off the CPUs: when and how each left, for kinds that examine the
 * wake-up or the return. The thread that leaves is current. */
#ifndef OP_OFF_THREAD_H
#define OP_OFF_THREAD_H

#include <bpf/bpf_core_read.h>

#include "bpf/event/count.h"
#include "bpf/event/event.h"
#include "bpf/event/off/mute.h"
#include "bpf/event/settings.h"
#include "bpf/platform/kernel.h"

enum {
	OP_TASK_INTERRUPTIBLE = 0x1,
	OP_TASK_UNINTERRUPTIBLE = 0x2,
	OP_TASK_STOPPED = 0x4 | 0x8, /* stopped or traced */
	OP_TASK_DEAD = 0x80,
	OP_TASK_FROZEN = 0x8000, /* since 6.1 */

	/* How a thread left: op_off_thread.how */
	OP_OFF_READY = 0, /* it was runnable: preempted, or it yielded */
	OP_OFF_SLEEP,
	OP_OFF_STOPPED, /* by a signal or a debugger */
	OP_OFF_BLOCKED, /* in a wait that signals do not end */
	OP_OFF_IO,	/* the same, and the scheduler counts the wait as I/O */

	/* Which threads op_off_leave() notes: all; those that sleep in futex(2); all,
	 * with the system call in which each sleeps */
	OP_OFF_NOTE_ALL = 0,
	OP_OFF_NOTE_FUTEX,
	OP_OFF_NOTE_CALL,
};

/* A thread that left a CPU at least once. */
struct op_off_thread {
	/* 0: it is on a CPU, or was never seen to leave. User space reads this member. */
	__u64 left_ns;
	struct op_mute mute;
	__u16 how;
	__s16 call; /* with OP_OFF_NOTE_CALL: the system call that it sleeps in, or < 0 */
	__u32 reserved0;
	struct op_waker waker; /* of its last sleep */
};

/* Tid in the initial PID namespace -> struct op_off_thread. Threads that end are
 * removed. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768); /* user space sets it by max_processes */
	__type(key, __u32);
	__type(value, struct op_off_thread);
} op_off_threads SEC(".maps");

/* The scheduler's state of @task. */
static __always_inline __u32 op_task_state(struct task_struct *task)
{
	struct task_struct___old *old = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return (__u32)BPF_CORE_READ(old, state);
}

/* The same for @task, which is current. */
static __always_inline __u32 op_current_state(struct task_struct *task)
{
	if (bpf_core_field_exists(struct task_struct, __state))
		return OP_CURRENT(task, __state);
	return op_task_state(task);
}

static __always_inline __u32 op_off_how(struct task_struct *task, bool preempted,
					__u32 state)
{
	/* In state 0 it yielded. If a waker has already changed the state, the thread
	 * was about to sleep. */
	if (preempted || !state)
		return OP_OFF_READY;
	if (state & (OP_TASK_STOPPED | OP_TASK_FROZEN))
		return OP_OFF_STOPPED;
	if (!(state & OP_TASK_UNINTERRUPTIBLE))
		return OP_OFF_SLEEP;
	return BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait) ? OP_OFF_IO
							      : OP_OFF_BLOCKED;
}

/* Does @task, which leaves as @how, sleep in futex(2)? */
static __always_inline bool op_in_futex(struct task_struct *task, __u32 how)
{
	return how == OP_OFF_SLEEP && op_is_futex(op_saved_syscall(task));
}

/* The current thread leaves this CPU. @note: a constant of the program. */
static __always_inline void op_off_leave(struct op_counts *counts, bool preempted,
					 __u32 note, __u64 now)
{
	struct task_struct *task = op_current_task();
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct op_off_thread fresh = { 0 };
	struct op_off_thread *thread;
	__u32 state;

	if (!tid || (OP_CURRENT(task, flags) & PF_KTHREAD))
		return;
	state = op_current_state(task);
	if (state & OP_TASK_DEAD) {
		(void)bpf_map_delete_elem(&op_off_threads, &tid);
		return;
	}
	fresh.how = (__u16)op_off_how(task, preempted, state);
	if (note == OP_OFF_NOTE_FUTEX && !op_in_futex(task, fresh.how))
		return;
	if (note == OP_OFF_NOTE_CALL && fresh.how != OP_OFF_READY)
		fresh.call = (__s16)op_saved_syscall(task);
	thread = bpf_map_lookup_elem(&op_off_threads, &tid);
	if (thread) {
		thread->how = fresh.how;
		thread->call = fresh.call;
		thread->waker.tid = 0;
		thread->left_ns = now;
		return;
	}
	fresh.left_ns = now;
	if (bpf_map_update_elem(&op_off_threads, &tid, &fresh, BPF_ANY)) {
		op_count_in(counts, OP_COUNT_TAKEN);
		op_count_in(counts, OP_COUNT_NO_MEMORY);
	}
}

/* A rule left the current thread, @tid, out. */
static __always_inline void op_off_mute(__u32 tid, __u64 now)
{
	struct op_off_thread *thread = bpf_map_lookup_elem(&op_off_threads, &tid);

	if (thread)
		op_mute_now(&thread->mute, now);
}

/* Has the freezer of cgroup v2 (a paused container) stopped @task? */
static __always_inline bool op_is_frozen(struct task_struct *task)
{
	return bpf_core_field_exists(task->frozen) &&
	       BPF_CORE_READ_BITFIELD_PROBED(task, frozen);
}

/* The reason why @task was off the CPU: its state shows how it waited, and the system
 * call for what. */
static __always_inline __u32 op_off_reason(struct task_struct *task, __u32 how,
					   __s32 call)
{
	if (how == OP_OFF_READY)
		return OP_REASON_PREEMPTED;
	if (how == OP_OFF_STOPPED)
		return OP_REASON_STOPPED;
	if (call < 0 && how == OP_OFF_SLEEP && op_is_frozen(task))
		return OP_REASON_STOPPED;
	if (call < 0)
		/* outside of a system call it waits for nothing else; for
		 * userfaultfd(2) it sleeps, and signals end the sleep */
		return OP_REASON_PAGE_FAULT;
	if (how == OP_OFF_IO)
		return OP_REASON_IO;
	if (how == OP_OFF_BLOCKED)
		return OP_REASON_UNINTERRUPTIBLE;
	return op_is_futex(call) ? OP_REASON_FUTEX : OP_REASON_SLEEP;
}

#endif
