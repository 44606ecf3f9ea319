/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Intervals in which a thread is off the CPUs, for kinds that sample them.
 *
 * sched_switch runs in the thread that leaves. The thread that returns is not current
 * yet, so its user memory cannot be read. The program notes when a thread leaves. When
 * the thread returns, the program knows how long it was away and decides whether this
 * interval is taken. If so, it requests the interrupt of irq_work. Interrupts are off
 * during the switch, so the interrupt comes after the switch and before the thread
 * runs. It finds the thread as it left, with its registers and its memory, and its
 * program walks the stack. A thread that waits when the kind is attached is noted by
 * snapshot/threads.bpf.c.
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
#include "bpf/event/off/thread.h"
#include "bpf/event/settings.h"
#include "bpf/platform/kernel.h"

/* A CPU: the state of its sampling, and the interval for which the interrupt was
 * requested. */
struct op_off_cpu {
	struct op_off_points points;
	__u64 task; /* the task whose interval is sampled; 0: none */
	__u64 asked_ns;
	__u64 value; /* ns that the interval stands for */
	__u64 length_ns;
	__u32 tid;
	__u32 how;
	struct op_waker waker;
};

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

/* ---- a thread is woken, and returns ---- */

/* The current thread, or an interrupt on top of it, wakes @task, which may be off the
 * CPUs. */
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
	op_count_undisturbed(counts, OP_COUNT_TAKEN);
	d = now > left_ns ? now - left_ns : 0;
	weight = 0;
	if (op_off_adapt(&cpu->points, op_settings.event_budget, now))
		op_count_set(counts, OP_COUNT_THRESHOLD_NS, cpu->points.next_ns);
	if (d >= op_settings.min_ns && !op_is_muted(&thread->mute, task, now))
		weight = op_off_weight(&cpu->points, d);
	if (!weight) {
		op_count_undisturbed(counts, OP_COUNT_FILTERED);
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

/* Handle sched_switch. Its arguments are whether the thread that leaves was preempted,
 * that thread, and the thread that comes. */
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
	op_off_leave(counts, args[0] & 1, futex ? OP_OFF_NOTE_FUTEX : OP_OFF_NOTE_ALL,
		     now);
	op_off_return(counts, cpu, (struct task_struct *)args[2], now);
}

/* ---- the interrupt ---- */

/* The interval for which this interrupt was requested. NULL if it came for another
 * reason. */
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

/* Begin the sample for which this interrupt was requested. Returns its slot, and *@ret
 * the interval. NULL: there is none, or it is not wanted, which is counted. */
static __always_inline struct op_slot *op_off_begin(__u32 event, struct op_off_cpu **ret)
{
	struct op_off_cpu *cpu = op_off_asked(event);
	bool filtered = false;
	struct op_slot *slot;

	if (!cpu)
		return NULL;
	slot = op_event_enter(op_counts_of(event), event, false, &filtered);
	if (filtered)
		op_off_mute(cpu->tid, cpu->asked_ns);
	if (slot && op_settings.wakers)
		slot->waker = cpu->waker;
	*ret = cpu;
	return slot;
}

/* Take a sample of a kind whose values are intervals, with their reasons. */
static __always_inline int op_off_sample(void *ctx, __u32 event, bool whole)
{
	struct op_off_cpu *cpu;
	struct op_slot *slot = op_off_begin(event, &cpu);
	struct task_struct *task;

	if (!slot)
		return 0;
	task = op_current_task();
	slot->record.value = cpu->value;
	slot->record.detail =
		(__u16)op_off_reason(task, cpu->how, op_saved_syscall(task));
	return op_event_task(ctx, slot, whole);
}

#endif
