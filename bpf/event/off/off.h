/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Intervals in which a thread is off the CPUs, for kinds that sample them.
 *
 * sched_switch runs in the thread that leaves; the one that returns is not current yet, so
 * its user memory cannot be read. The program notes when a thread leaves. When the thread
 * returns, the program knows how long it was away and decides whether this interval is
 * taken. If so, it asks for the interrupt of irq_work. Interrupts are off during the
 * switch, so the interrupt comes after the switch and before the thread runs: it finds the
 * thread as it left, with its registers and its memory, and its program walks the stack.
 *
 * Which intervals are taken: points.h.
 */
#ifndef OP_OFF_H
#define OP_OFF_H

#include <bpf/bpf_core_read.h>

#include "bpf/event/count.h"
#include "bpf/event/event.h"
#include "bpf/event/off/kick.h"
#include "bpf/event/off/points.h"
#include "bpf/event/settings.h"
#include "bpf/platform/kernel.h"

/* a thread that the filter or a rule left out is not asked for */
#define OP_OFF_MUTE_NS 1000000000ULL

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
};

/* A thread that left a CPU at least once. */
struct op_off_thread {
	__u64 left_ns; /* 0: it is on a CPU, or was never seen to leave */
	/* until then it is not asked for: it was left out at rules_changed `rules` */
	__u64 mute_until_ns;
	__u32 how;
	__u32 rules;
	struct op_waker waker; /* of its last sleep */
};

/* A CPU: the state of its sampling, and the interval that the interrupt is to take. */
struct op_off_cpu {
	struct op_off_points points;
	__u64 task; /* the task whose interval is to be taken; 0: none */
	__u64 asked_ns;
	__u64 value; /* ns that the interval stands for */
	__u64 length_ns;
	__u32 tid;
	__u32 how;
	struct op_waker waker;
};

/* Tid in the initial PID namespace -> struct op_off_thread. Threads that end are
 * removed. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768); /* user space sets it by max_processes */
	__type(key, __u32);
	__type(value, struct op_off_thread);
} op_off_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct op_off_cpu);
} op_off_cpus SEC(".maps");

static __always_inline struct op_off_cpu *op_off_this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&op_off_cpus, &zero);
}

/* ---- a thread leaves ---- */

/* The scheduler's state of @task. */
static __always_inline __u32 op_task_state(struct task_struct *task)
{
	struct task_struct___old *old = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return (__u32)BPF_CORE_READ(old, state);
}

static __always_inline __u32 op_off_how(struct task_struct *task, bool preempted,
					__u32 state)
{
	/* In state 0 it yielded. If a waker has already changed the state, it was that of
	 * a sleep. */
	if (preempted || !state)
		return OP_OFF_READY;
	if (state & (OP_TASK_STOPPED | OP_TASK_FROZEN))
		return OP_OFF_STOPPED;
	if (!(state & OP_TASK_UNINTERRUPTIBLE))
		return OP_OFF_SLEEP;
	return BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait) ? OP_OFF_IO
							      : OP_OFF_BLOCKED;
}

/* Does @task, which is current, sleep in futex(2)? */
static __always_inline bool op_in_futex(struct task_struct *task, __u32 how)
{
	return how == OP_OFF_SLEEP && op_is_futex(op_saved_syscall(task));
}

/* @task, which is current, leaves this CPU. @futex: note only threads that sleep in
 * futex(2). */
static __always_inline void op_off_leave(struct op_counts *counts,
					 struct task_struct *task, bool preempted,
					 bool futex, __u64 now)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct op_off_thread fresh = { 0 };
	struct op_off_thread *thread;
	__u32 state;

	if (!tid || (BPF_CORE_READ(task, flags) & PF_KTHREAD))
		return;
	state = op_task_state(task);
	if (state & OP_TASK_DEAD) {
		(void)bpf_map_delete_elem(&op_off_threads, &tid);
		return;
	}
	fresh.how = op_off_how(task, preempted, state);
	if (futex && !op_in_futex(task, fresh.how))
		return;
	thread = bpf_map_lookup_elem(&op_off_threads, &tid);
	if (thread) {
		thread->how = fresh.how;
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

/* @task, which may be off the CPUs, is woken by the current thread, or by an interrupt on top
 * of that. */
static __always_inline void op_off_woken(struct task_struct *task)
{
	__u32 tid = (__u32)BPF_CORE_READ(task, pid);
	struct op_off_thread *thread = bpf_map_lookup_elem(&op_off_threads, &tid);
	struct op_waker waker = { 0 };

	if (!thread || !thread->left_ns || thread->how == OP_OFF_READY ||
	    !op_task_ids(op_current_task(), &waker.pid, &waker.tid))
		return;
	bpf_get_current_comm(waker.comm, sizeof(waker.comm));
	thread->waker = waker;
}

/* ---- a thread returns ---- */

/* Did the filter and the rules, as they are, leave the thread out less than
 * OP_OFF_MUTE_NS ago? */
static __always_inline bool op_off_muted(const struct op_off_thread *thread, __u64 now)
{
	struct op_control *control = op_control();

	return now < thread->mute_until_ns && control &&
	       thread->rules == control->rules_changed;
}

/* @task returns to this CPU. It is not current yet. */
static __always_inline void op_off_return(struct op_counts *counts,
					  struct op_off_cpu *cpu,
					  struct task_struct *task, __u64 now)
{
	__u32 tid = (__u32)BPF_CORE_READ(task, pid);
	struct op_off_thread *thread;
	__u64 left_ns;
	__u64 weight;
	__u64 d;

	if (!tid)
		return;
	thread = bpf_map_lookup_elem(&op_off_threads, &tid);
	if (!thread || !thread->left_ns)
		return;
	left_ns = thread->left_ns;
	thread->left_ns = 0;
	op_count_in(counts, OP_COUNT_TAKEN);
	d = now > left_ns ? now - left_ns : 0;
	weight = 0;
	if (op_off_adapt(&cpu->points, op_settings.event_budget, now))
		op_count_set(counts, OP_COUNT_THRESHOLD_NS, cpu->points.next_ns);
	if (d >= op_settings.min_ns && !op_off_muted(thread, now))
		weight = op_off_weight(&cpu->points, d);
	if (!weight) {
		op_count_in(counts, OP_COUNT_FILTERED);
		return;
	}
	cpu->task = (__u64)task;
	cpu->tid = tid;
	cpu->asked_ns = now;
	cpu->value = weight;
	cpu->length_ns = d;
	cpu->how = thread->how;
	cpu->waker = thread->waker;
	if (op_kick()) {
		cpu->task = 0;
		op_count_in(counts, OP_COUNT_RING_FULL);
	}
}

/* Handle sched_switch, whose arguments are: whether the thread that leaves was preempted;
 * that thread; the thread that comes. */
static __always_inline void op_off_switch(__u32 event, const __u64 *args, bool futex)
{
	struct op_counts *counts = op_counts_of(event);
	struct op_off_cpu *cpu = op_off_this_cpu();
	__u64 now = bpf_ktime_get_ns();

	if (!cpu || !counts)
		return;
	if (cpu->task) { /* the interrupt did not come */
		cpu->task = 0;
		op_count_in(counts, OP_COUNT_NESTED);
	}
	op_off_leave(counts, (struct task_struct *)args[1], args[0] & 1, futex, now);
	op_off_return(counts, cpu, (struct task_struct *)args[2], now);
}

/* ---- the interrupt ---- */

/* The interval for which this interrupt was asked; NULL if it came for something else. */
static __always_inline struct op_off_cpu *op_off_asked(__u32 event)
{
	struct op_off_cpu *cpu = op_off_this_cpu();

	if (!cpu || !cpu->task || cpu->task != bpf_get_current_task())
		return NULL;
	cpu->task = 0;
	if (bpf_ktime_get_ns() - cpu->asked_ns <= OP_KICK_LATE_NS)
		return cpu;
	op_count(event, OP_COUNT_NESTED);
	return NULL;
}

/* The filter or a rule left this thread out: do not ask for it again for
 * OP_OFF_MUTE_NS. */
static __always_inline void op_off_mute(const struct op_off_cpu *cpu)
{
	__u32 tid = cpu->tid;
	struct op_off_thread *thread = bpf_map_lookup_elem(&op_off_threads, &tid);
	struct op_control *control = op_control();
	__u32 active = control ? control->filter_active & 1 : 0;
	struct op_filter *filter = bpf_map_lookup_elem(&op_filters, &active);

	if (!thread || !control || !filter || filter->random)
		return;
	thread->rules = control->rules_changed;
	thread->mute_until_ns = cpu->asked_ns + OP_OFF_MUTE_NS;
}

/* Begin the sample for which this interrupt was asked. Returns its slot, and *@ret the
 * interval; or NULL if there is none or it is not wanted, which is counted. */
static __always_inline struct op_slot *op_off_begin(__u32 event, struct op_off_cpu **ret)
{
	struct op_off_cpu *cpu = op_off_asked(event);
	bool filtered = false;
	struct op_slot *slot;

	if (!cpu)
		return NULL;
	slot = op_event_enter(op_counts_of(event), event, false, &filtered);
	if (filtered)
		op_off_mute(cpu);
	if (slot && op_settings.wakers)
		slot->waker = cpu->waker;
	*ret = cpu;
	return slot;
}

/* Has the freezer of cgroup v2 (a paused container) stopped @task? */
static __always_inline bool op_is_frozen(struct task_struct *task)
{
	return bpf_core_field_exists(task->frozen) &&
	       BPF_CORE_READ_BITFIELD_PROBED(task, frozen);
}

/* The reason why the thread was off the CPU: its state says how it waited, and the system
 * call that it is in says for what. */
static __always_inline __u32 op_off_reason(struct task_struct *task, __u32 how)
{
	__s32 call;

	if (how == OP_OFF_READY)
		return OP_REASON_PREEMPTED;
	if (how == OP_OFF_STOPPED)
		return OP_REASON_STOPPED;
	call = op_saved_syscall(task);
	if (call < 0 && how == OP_OFF_SLEEP && op_is_frozen(task))
		return OP_REASON_STOPPED;
	if (call < 0)
		/* outside of a system call it waits for nothing else; for userfaultfd(2) it
		 * does so in a sleep that signals end */
		return OP_REASON_PAGE_FAULT;
	if (how == OP_OFF_IO)
		return OP_REASON_IO;
	if (how == OP_OFF_BLOCKED)
		return OP_REASON_UNINTERRUPTIBLE;
	return op_is_futex(call) ? OP_REASON_FUTEX : OP_REASON_SLEEP;
}

/* Take a sample of a kind whose values are intervals, with their reasons. */
static __always_inline int op_off_sample(void *ctx, __u32 event, bool whole)
{
	struct op_off_cpu *cpu;
	struct op_slot *slot = op_off_begin(event, &cpu);

	if (!slot)
		return 0;
	slot->record.value = cpu->value;
	slot->record.detail = (__u16)op_off_reason(op_current_task(), cpu->how);
	return op_event_task(ctx, slot, whole);
}

#endif
