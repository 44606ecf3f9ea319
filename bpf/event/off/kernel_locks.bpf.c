/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits for locks of the kernel, between the tracepoints contention_begin and
 * contention_end (Linux 5.19). Both run in the thread that waits. The length is known
 * at the end. If the wait is taken (points.h), this program keeps the kernel's stack
 * and requests an interrupt (kick.h), which makes the rest of the sample: interrupts
 * may be off here.
 *
 * At the end of a wait for a spin lock the CPU holds that lock, which may be one of
 * BPF's own. So the code after a wait for a spin lock must not wait for any lock: its
 * state is in per-CPU arrays, and it only tries the ring of the interrupt. BPF never
 * takes locks for which threads sleep, so their waits may be kept in a hash.
 */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* the first T (points.h): waits for spin locks are short */
#define OP_OFF_FIRST_NS 10000ULL

#include "bpf/event/event.h"
#include "bpf/event/off/contention.h"
#include "bpf/event/off/kick.h"
#include "bpf/event/off/mute.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

enum {
	/* include/trace/events/lock.h */
	OP_LCB_SPIN = 1 << 0,
	OP_LCB_READ = 1 << 1,
	OP_LCB_WRITE = 1 << 2,
	OP_LCB_RT = 1 << 3,
	OP_LCB_PERCPU = 1 << 4,
	OP_LCB_MUTEX = 1 << 5,

	OP_LOCK_WAITS_MAX = 8192, /* threads that wait at once */
	/* A thread, a soft and a hard interrupt and an NMI may each spin on a CPU, and
	 * also for the lock that guards a lock. */
	OP_LOCK_SPINS_MAX = 8,
	OP_LOCK_MUTES = 128, /* a power of two */
};

struct op_lock_wait {
	__u64 since_ns;
	__u64 flags; /* of contention_begin */
};

/* A wait in which a thread may sleep. These nest: a thread may wait for one lock while
 * it is about to sleep for another. */
struct op_lock_waiter {
	__u64 task;
	__u64 lock;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OP_LOCK_WAITS_MAX);
	__type(key, struct op_lock_waiter);
	__type(value, struct op_lock_wait);
} op_lock_waits SEC(".maps");

struct op_lock_spin {
	__u64 lock;
	struct op_lock_wait wait;
};

/* A thread that was left out. It is identified by its numbers, because a task's address
 * is soon reused. */
struct op_lock_mute {
	__u64 thread; /* bpf_get_current_pid_tgid() */
	struct op_mute mute;
};

/* A CPU. A spinning thread is not preempted, so waits end on the CPU where they began,
 * in reverse order. */
struct op_lock_cpu {
	__u64 busy; /* an interruptible program of this kind is running */
	__u64 spins;
	struct op_lock_spin spin[OP_LOCK_SPINS_MAX];
	struct op_off_points points;
	/* the wait for which the interrupt was requested */
	__u64 task;	/* 0: none */
	__u64 has_user; /* it belongs to a kernel thread */
	struct op_record record;
	__s64 kernel_bytes;
	__u64 word[OP_KERNEL_FRAMES_MAX];
	struct op_lock_mute mute[OP_LOCK_MUTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct op_lock_cpu);
} op_lock_cpus SEC(".maps");

/* How many CPUs want each ring, so that none waits for the ring's own lock. */
struct op_lock_rings {
	__u64 users[OP_KICK_RINGS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct op_lock_rings);
} op_lock_ring_users SEC(".maps");

static __always_inline struct op_lock_cpu *op_lock_this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&op_lock_cpus, &zero);
}

/* Count @n waits that were seen and not sent. */
static __always_inline void op_lock_lost(struct op_counts *counts, __u32 counter, __u64 n)
{
	op_count_add(counts, OP_COUNT_TAKEN, n);
	op_count_add(counts, counter, n);
}

/* ---- a wait begins ---- */

static __always_inline void op_spin_begin(struct op_counts *counts,
					  struct op_lock_cpu *cpu, __u64 lock,
					  __u64 flags, __u64 now)
{
	__u64 i = cpu->spins;

	/* of a lock that this kind's own programs need, or inside such a wait */
	if (cpu->busy) {
		op_lock_lost(counts, OP_COUNT_NESTED, 1);
		return;
	}
	if (i >= OP_LOCK_SPINS_MAX) { /* their ends were missed */
		op_lock_lost(counts, OP_COUNT_NESTED, i);
		i = 0;
	}
	op_platform_bound(i);
	if (i >= OP_LOCK_SPINS_MAX)
		return;
	*(volatile __u64 *)&cpu->spins = i + 1; /* an interrupt takes the next one */
	barrier();
	cpu->spin[i].lock = lock;
	cpu->spin[i].wait.since_ns = now;
	cpu->spin[i].wait.flags = flags;
}

/* A mutex reports each phase of a wait: it spins, sleeps, spins again, and so on. */
static __always_inline bool op_wait_goes_on(const struct op_lock_wait *wait, __u64 flags)
{
	return flags & OP_LCB_MUTEX && !(wait->flags & flags & OP_LCB_SPIN);
}

static __always_inline void op_wait_begin(struct op_counts *counts, __u64 lock,
					  __u64 flags, __u64 now)
{
	struct op_lock_waiter key = { .task = bpf_get_current_task(), .lock = lock };
	struct op_lock_wait *wait = bpf_map_lookup_elem(&op_lock_waits, &key);
	struct op_lock_wait fresh = { .since_ns = now, .flags = flags };

	if (wait && op_wait_goes_on(wait, flags)) {
		wait->flags = flags;
	} else if (wait) { /* the end of an earlier one was missed */
		*wait = fresh;
		op_lock_lost(counts, OP_COUNT_NESTED, 1);
	} else if (bpf_map_update_elem(&op_lock_waits, &key, &fresh, BPF_ANY)) {
		op_lock_lost(counts, OP_COUNT_NO_MEMORY, 1);
	}
}

SEC("raw_tp/contention_begin")
int op_lock_begun(struct bpf_raw_tracepoint_args *ctx)
{
	struct op_counts *counts = op_counts_of(OP_EVENT_KERNEL_LOCKS);
	struct op_lock_cpu *cpu = op_lock_this_cpu();
	__u64 flags = (__u32)ctx->args[1];
	__u64 now = bpf_ktime_get_ns();

	if (!cpu)
		return 0;
	if ((flags & (OP_LCB_SPIN | OP_LCB_MUTEX)) == OP_LCB_SPIN) {
		op_spin_begin(counts, cpu, ctx->args[0], flags, now);
		return 0;
	}
	__sync_fetch_and_add(&cpu->busy, 1);
	op_wait_begin(counts, ctx->args[0], flags, now);
	__sync_fetch_and_add(&cpu->busy, -1);
	return 0;
}

/* ---- a wait ends ---- */

static __always_inline __u64 op_lock_type(__u64 flags)
{
	bool read = flags & OP_LCB_READ;
	bool write = flags & OP_LCB_WRITE;

	if (flags & OP_LCB_MUTEX)
		return OP_LOCK_MUTEX;
	if (flags & OP_LCB_RT)
		return OP_LOCK_RTMUTEX;
	if (flags & OP_LCB_SPIN)
		return read    ? OP_LOCK_RWLOCK_READ
		       : write ? OP_LOCK_RWLOCK_WRITE
			       : OP_LOCK_SPINLOCK;
	if (flags & OP_LCB_PERCPU)
		return read ? OP_LOCK_PERCPU_RWSEM_READ : OP_LOCK_PERCPU_RWSEM_WRITE;
	return read    ? OP_LOCK_RWSEM_READ
	       : write ? OP_LOCK_RWSEM_WRITE
		       : OP_LOCK_SEMAPHORE;
}

/* The innermost wait of this CPU that spins for @lock ends. Returns whether there is
 * one. */
static __always_inline bool op_spin_end(struct op_counts *counts, struct op_lock_cpu *cpu,
					__u64 lock, struct op_lock_wait *ret)
{
	__u64 spins = cpu->spins;
	int i;

	for (i = OP_LOCK_SPINS_MAX - 1; i >= 0; i--) {
		if ((__u64)i >= spins || cpu->spin[i].lock != lock)
			continue;
		*ret = cpu->spin[i].wait;
		barrier();
		*(volatile __u64 *)&cpu->spins = (__u64)i;
		if (spins - 1 > (__u64)i) /* the ends of those above were missed */
			op_lock_lost(counts, OP_COUNT_NESTED, spins - 1 - (__u64)i);
		return true;
	}
	return false;
}

/* The wait of the current thread for @lock ends. Returns whether one is known. */
static __always_inline bool op_wait_end(struct op_lock_cpu *cpu, __u64 lock,
					struct op_lock_wait *ret)
{
	struct op_lock_waiter key = { .task = bpf_get_current_task(), .lock = lock };
	struct op_lock_wait *wait = bpf_map_lookup_elem(&op_lock_waits, &key);

	if (!wait)
		return false;
	*ret = *wait;
	__sync_fetch_and_add(&cpu->busy, 1);
	(void)bpf_map_delete_elem(&op_lock_waits, &key);
	__sync_fetch_and_add(&cpu->busy, -1);
	return true;
}

static __always_inline struct op_lock_mute *op_lock_mute_of(struct op_lock_cpu *cpu,
							    __u64 thread)
{
	__u64 i = thread & (OP_LOCK_MUTES - 1);

	op_platform_bound(i);
	return &cpu->mute[i & (OP_LOCK_MUTES - 1)];
}

static __always_inline bool op_lock_muted(struct op_lock_cpu *cpu, __u64 now)
{
	__u64 thread = bpf_get_current_pid_tgid();
	const struct op_lock_mute *mute = op_lock_mute_of(cpu, thread);

	return mute->thread == thread && op_is_muted(&mute->mute, op_current_task(), now);
}

/* Like op_kick(), if no other CPU writes to the ring at this moment. */
static __always_inline bool op_lock_kick(void)
{
	__u32 ring = bpf_get_smp_processor_id() % OP_KICK_RINGS;
	__u32 zero = 0;
	struct op_lock_rings *rings = bpf_map_lookup_elem(&op_lock_ring_users, &zero);
	bool kicked = false;

	if (!rings)
		return false;
	__sync_fetch_and_add(&rings->users[ring], 1);
	if (*(volatile __u64 *)&rings->users[ring] == 1)
		kicked = !op_kick();
	__sync_fetch_and_add(&rings->users[ring], -1);
	return kicked;
}

/* A rule left the current thread out. */
static __always_inline void op_lock_leave_out(struct op_lock_cpu *cpu, __u64 now)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct op_lock_mute *mute = op_lock_mute_of(cpu, thread);

	mute->thread = thread;
	mute->mute.until_ns = 0;
	op_mute_now(&mute->mute, now);
}

/* Note the current task, because in the interrupt it may be another one. Returns
 * whether the sample is wanted. The slot is not kept, because the interrupt may not
 * come. */
static __always_inline bool op_lock_note(struct op_counts *counts,
					 struct op_lock_cpu *cpu, __u64 now)
{
	bool filtered = false;
	struct op_slot *slot =
		op_event_enter(counts, OP_EVENT_KERNEL_LOCKS, false, &filtered);

	if (filtered)
		op_lock_leave_out(cpu, now);
	if (!slot)
		return false;
	cpu->record = slot->record;
	op_slot_release(slot);
	cpu->has_user = !(OP_CURRENT(op_current_task(), flags) & PF_KTHREAD);
	return true;
}

/* The current thread has waited until @now, as described by @wait. */
static __always_inline void op_lock_end(void *ctx, struct op_counts *counts,
					struct op_lock_cpu *cpu,
					const struct op_lock_wait *wait, __u64 now)
{
	__u64 d = now > wait->since_ns ? now - wait->since_ns : 0;
	__u64 weight = 0;

	op_count_in(counts, OP_COUNT_TAKEN);
	if (!op_settings.keep_idle && op_is_idle(op_current_task())) {
		op_count_in(counts, OP_COUNT_IDLE);
		return;
	}
	if (op_off_adapt(&cpu->points, op_settings.event_budget, now))
		op_count_set(counts, OP_COUNT_THRESHOLD_NS, cpu->points.next_ns);
	if (d >= op_settings.min_ns && !op_lock_muted(cpu, now))
		weight = op_off_weight_alone(&cpu->points, d);
	if (!weight) {
		op_count_in(counts, OP_COUNT_FILTERED);
		return;
	}
	if (cpu->task) { /* the interrupt did not come yet */
		cpu->task = 0;
		op_count_in(counts, OP_COUNT_NESTED);
	}
	if (!op_lock_note(counts, cpu, now))
		return;
	cpu->record.value = op_contention(weight, d);
	cpu->record.detail = (__u16)op_lock_type(wait->flags);
	cpu->kernel_bytes = op_settings.kernel_stacks
				    ? bpf_get_stack(ctx, cpu->word, sizeof(cpu->word), 0)
				    : 0;
	op_count_add(counts, OP_COUNT_SPENT_NS, bpf_ktime_get_ns() - now);
	*(volatile __u64 *)&cpu->task = bpf_get_current_task();
	/* an interrupt that was requested earlier may have taken it */
	if (!op_lock_kick() && *(volatile __u64 *)&cpu->task) {
		cpu->task = 0;
		op_count_in(counts, OP_COUNT_NESTED);
	}
}

SEC("raw_tp/contention_end")
int op_lock_ended(struct bpf_raw_tracepoint_args *ctx)
{
	struct op_counts *counts = op_counts_of(OP_EVENT_KERNEL_LOCKS);
	struct op_lock_cpu *cpu = op_lock_this_cpu();
	__u64 now = bpf_ktime_get_ns();
	__u64 lock = ctx->args[0];
	struct op_lock_wait wait;

	if (!cpu)
		return 0;
	if ((cpu->busy || !op_spin_end(counts, cpu, lock, &wait)) &&
	    !op_wait_end(cpu, lock, &wait))
		return 0; /* it began before the kind was on, or it counted as lost */
	__sync_fetch_and_add(&cpu->busy, 1);
	op_lock_end(ctx, counts, cpu, &wait, now);
	__sync_fetch_and_add(&cpu->busy, -1);
	return 0;
}

/* ---- the interrupt ---- */

/* Begin the sample of the waiting state. Returns its slot, or NULL after counting it. */
static __always_inline struct op_slot *op_lock_sample(struct op_counts *counts,
						      struct op_lock_cpu *cpu)
{
	__u64 now = bpf_ktime_get_ns();
	bool late = now - cpu->record.time_ns > OP_KICK_LATE_NS;
	struct op_slot *slot = late ? NULL : op_slot_take();

	if (!slot) {
		op_count_in(counts, OP_COUNT_NESTED);
		return NULL;
	}
	op_event_ready(slot, false);
	slot->record = cpu->record;
	/* time since then, with interrupts off, belongs to the thread itself */
	slot->begun_ns = now;
	return slot;
}

static __always_inline int op_lock(void *ctx, bool whole)
{
	struct op_counts *counts = op_counts_of(OP_EVENT_KERNEL_LOCKS);
	struct op_lock_cpu *cpu = op_lock_this_cpu();
	struct task_struct *task;
	struct op_slot *slot;
	bool gone_on;
	long bytes;

	if (!cpu || !cpu->task)
		return 0;
	slot = op_lock_sample(counts, cpu);
	bytes = (long)cpu->kernel_bytes;
	op_platform_bound(bytes);
	if (!slot || bytes < 0 || bytes > (long)sizeof(cpu->word) ||
	    bpf_probe_read_kernel(slot->word, (__u32)bytes, cpu->word))
		bytes = 0;
	task = op_current_task();
	gone_on = cpu->task != (__u64)task;
	*(volatile __u64 *)&cpu->task = 0;
	if (!slot)
		return 0;
	if (gone_on) {
		op_event_kernel(slot, bytes);
		slot->unwind.end =
			cpu->has_user ? OP_ERROR_native_switched : OP_END_NO_USER;
		return op_finish(slot);
	}
	op_saved_registers(task, &slot->registers);
	return op_event_walk_user(ctx, slot, task, bytes, whole);
}

SEC("raw_tp")
int op_kernel_locks(void *ctx)
{
	return op_lock(ctx, false);
}

SEC("raw_tp")
int op_kernel_locks_whole(void *ctx)
{
	return op_lock(ctx, true);
}
