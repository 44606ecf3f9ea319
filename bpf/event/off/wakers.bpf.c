/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who wakes threads: the stack of the thread that ends a sleep, with the time that the
 * other one slept. Both are known in the thread that wakes, so nothing waits until the
 * other one runs. Which sleeps are taken: points.h, by the CPU that ends them.
 *
 * The thread that an interrupt interrupts is not the cause of a wake-up. Such a wake-up
 * is left out, by the return addresses on the kernel's stack.
 */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/event.h"
#include "bpf/event/off/points.h"
#include "bpf/event/off/thread.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

/* The entries of interrupts. 0 if the kernel's addresses are hidden. On x86-64 this
 * text begins with the entries of exceptions, such as page faults, and of int 0x80. A
 * thread itself causes wake-ups there. asm_common_interrupt is behind them and before
 * all others. */
extern const void __irqentry_text_start __ksym __weak;
#if defined(__TARGET_ARCH_x86)
extern const void asm_common_interrupt __ksym __weak;
#endif
extern const void __irqentry_text_end __ksym __weak;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct op_off_points);
} op_waker_points SEC(".maps");

/* The time that a sleep of @length ns, which this CPU ends, stands for. 0: it is not
 * taken. */
static __always_inline __u64 op_sleep_weight(struct op_counts *counts, __u64 length,
					     __u64 now)
{
	__u32 zero = 0;
	struct op_off_points *points = bpf_map_lookup_elem(&op_waker_points, &zero);

	if (!points)
		return 0;
	if (op_off_adapt(points, op_settings.event_budget, now))
		op_count_set(counts, OP_COUNT_THRESHOLD_NS, points->next_ns);
	return length < op_settings.min_ns ? 0 : op_off_weight(points, length);
}

/* Was thread @tid left out as a waker a short time ago? */
static __always_inline bool op_waker_muted(__u32 tid, __u64 now)
{
	struct op_off_thread *thread = bpf_map_lookup_elem(&op_off_threads, &tid);

	return thread && op_is_muted(&thread->mute, op_current_task(), now);
}

static __always_inline __u64 op_interrupts_start(void)
{
#if defined(__TARGET_ARCH_x86)
	__u64 first = (__u64)&asm_common_interrupt;

	if (first)
		return first;
#endif
	return (__u64)&__irqentry_text_start;
}

/* Does the kernel's stack in slot @number, of @count words, begin in an interrupt?
 * Global, so that the verifier checks it once. */
__attribute__((noinline)) int op_in_interrupt(__u32 number, __u32 count);
__attribute__((noinline)) int op_in_interrupt(__u32 number, __u32 count)
{
	__u64 first = op_interrupts_start();
	__u64 end = (__u64)&__irqentry_text_end;
	struct op_slot *slot = op_slot_at(number);
	__u32 i;

	for (i = 0; slot && i < OP_KERNEL_FRAMES_MAX && i < count; i++)
		if (slot->word[i] - first < end - first)
			return 1;
	return 0;
}

/* Note in the sample that it wakes @task. */
static __always_inline void op_note_woken(struct op_slot *slot, struct task_struct *task)
{
	struct op_waker *woken = &slot->waker;
	struct op_control *control = op_control();
	__u32 level = control ? control->pid_level : 0;

	if (!op_settings.pid_namespace) {
		woken->pid = BPF_CORE_READ(task, tgid);
		woken->tid = BPF_CORE_READ(task, pid);
	} else if (level) {
		woken->pid =
			op_pid_at(BPF_CORE_READ(task, group_leader, thread_pid), level);
		woken->tid = op_pid_at(BPF_CORE_READ(task, thread_pid), level);
	}
	BPF_CORE_READ_INTO(&woken->comm, task, comm);
}

/* Sample the sleep of @task, which left as @how, in the system call @call. */
static __always_inline int op_take_sleep(void *ctx, struct op_slot *slot,
					 struct op_counts *counts,
					 struct task_struct *task, __u32 how, __s32 call,
					 bool whole)
{
	struct task_struct *current;
	long bytes = bpf_get_stack(ctx, slot->word, OP_KERNEL_FRAMES_MAX * 8, 0);

	if (bytes > 0 && op_in_interrupt(slot->number, (__u32)bytes / 8)) {
		op_count_in(counts, OP_COUNT_FILTERED);
		op_count_add(counts, OP_COUNT_SPENT_NS,
			     bpf_ktime_get_ns() - slot->begun_ns);
		op_slot_release(slot);
		return 0;
	}
	slot->record.detail = (__u16)op_off_reason(task, how, call);
	op_note_woken(slot, task);
	current = op_current_task();
	op_saved_registers(current, &slot->registers);
	return op_event_walk_user(ctx, slot, current,
				  op_settings.kernel_stacks ? bytes : 0, whole);
}

static __always_inline int op_waking(struct bpf_raw_tracepoint_args *ctx, bool whole)
{
	struct op_counts *counts = op_counts_of(OP_EVENT_WAKERS);
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 mine = (__u32)bpf_get_current_pid_tgid();
	__u32 tid = (__u32)BPF_CORE_READ(task, pid);
	__u64 now = bpf_ktime_get_ns();
	struct op_off_thread *thread;
	struct op_slot *slot;
	bool filtered;
	__u64 weight;
	__u64 length;
	__s32 call;
	__u32 how;

	thread = bpf_map_lookup_elem(&op_off_threads, &tid);
	if (!thread || !thread->left_ns || thread->how == OP_OFF_READY)
		return 0;
	length = now > thread->left_ns ? now - thread->left_ns : 0;
	how = thread->how;
	call = thread->call;
	thread->left_ns = 0;
	if (!mine) /* an interrupt on an idle CPU */
		return 0;
	op_count_in(counts, OP_COUNT_TAKEN);
	weight = op_waker_muted(mine, now) ? 0 : op_sleep_weight(counts, length, now);
	/* On its CPU it has not slept. left_ns belongs to an earlier switch, before
	 * which it was already woken, or this switch is not finished. */
	if (!weight || op_on_cpu(task)) {
		op_count_in(counts, OP_COUNT_FILTERED);
		return 0;
	}
	slot = op_event_enter(counts, OP_EVENT_WAKERS, true, &filtered);
	if (filtered)
		op_off_mute(mine, now);
	if (!slot)
		return 0;
	slot->record.value = weight;
	return op_take_sleep(ctx, slot, counts, task, how, call, whole);
}

SEC("raw_tp")
int op_wakers(struct bpf_raw_tracepoint_args *ctx)
{
	return op_waking(ctx, false);
}

SEC("raw_tp")
int op_wakers_whole(struct bpf_raw_tracepoint_args *ctx)
{
	return op_waking(ctx, true);
}

SEC("raw_tp/sched_switch")
int op_wakers_left(struct bpf_raw_tracepoint_args *ctx)
{
	op_off_leave(op_counts_of(OP_EVENT_WAKERS), ctx->args[0] & 1, OP_OFF_NOTE_CALL,
		     bpf_ktime_get_ns());
	return 0;
}
