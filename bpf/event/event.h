/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The entry of every kind of event: count the event, take a slot, evaluate the rules,
 * note who runs, prepare the walk, and tail-call the walker of its program type
 * (walker.h).
 *
 * A kind is one file KIND.bpf.c with two programs, op_KIND and op_KIND_whole. The whole
 * one walks the stack itself, without a tail call: on aarch64, kernels before 6.0 allow
 * a program either subprograms or tail calls.
 */
#ifndef OP_EVENT_H
#define OP_EVENT_H

#include "bpf/context/context.h"
#include "bpf/event/rules/rules.h"
#include "bpf/event/rules/thin.h"
#include "bpf/event/send.h"
#include "bpf/event/slot.h"
#include "bpf/event/task.h"
#include "bpf/event/uprobes.h"
#include "bpf/event/walker.h"
#include "bpf/walk/registers.h"

enum op_ticks {
	OP_TICKS_NONE = 0, /* the event is none of a clock's */
	OP_TICKS_ONE,
	OP_TICKS_MANY, /* it stands for many, and a lower rate leaves none out */
};

/* Do the rules keep the sample in @slot, whose record has the current task? */
static __always_inline bool op_event_is_wanted(struct op_counts *counts,
					       struct op_slot *slot, enum op_ticks ticks)
{
	__u32 rate;

	slot->record.value = 0;
	slot->record.hits = 1;
	if (!op_is_wanted(slot, &rate))
		return false;
	if (ticks == OP_TICKS_NONE ||
	    op_tick_is_taken(rate, ticks == OP_TICKS_MANY, &slot->record.value))
		return true;
	op_count_in(counts, OP_COUNT_THINNED);
	return false;
}

/* Make @slot ready for a walk. */
static __always_inline void op_event_ready(struct op_slot *slot, bool named)
{
	slot->tail_calls = 0;
	slot->absent = 0;
	slot->named = named;
	slot->context_bytes = 0;
	slot->objects = 0;
	slot->chain_records = 0;
	slot->called = 0;
	if (op_settings.wakers)
		slot->waker.tid = 0;
}

/* As below, at @now. The sample of a clock's @ticks has a rate, and a period as its
 * value. */
static __always_inline struct op_slot *op_event_enter_as(struct op_counts *counts,
							 __u32 event, bool named,
							 enum op_ticks ticks, __u64 now,
							 bool *ret_filtered)
{
	struct op_slot *slot = op_slot_take();
	struct op_record *r;

	*ret_filtered = false;
	if (!slot) {
		op_count_in(counts, OP_COUNT_NESTED);
		return NULL;
	}
	r = &slot->record;
	r->time_ns = slot->begun_ns = now;
	/* Some kernels before 6.4 leave the bytes after the name as they were, and
	 * rules compare all bytes. */
	__builtin_memset(r->comm, 0, sizeof(r->comm));
	bpf_get_current_comm(r->comm, sizeof(r->comm));
	if (!op_task_ids(op_current_task(), &r->pid, &r->tid) ||
	    !op_event_is_wanted(counts, slot, ticks)) {
		op_count_in(counts, OP_COUNT_FILTERED);
		op_slot_release(slot);
		*ret_filtered = true;
		return NULL;
	}
	r->event = (__u16)event;
	r->detail = (__u16)op_settings.detail;
	r->cgroup = bpf_get_current_cgroup_id();
	r->cpu = (__u16)bpf_get_smp_processor_id();
	r->context_bytes = 0;
	r->generation = 0;
	r->stack_bytes = 0;
	r->resumed = 0;
	r->code_pages = 0;
	r->marks = 0;
	r->stack_below = 0;
	op_event_ready(slot, named);
	return slot;
}

/*
 * Begin a sample of kind @event that is counted as taken. @named: of a kind with many
 * events, whose stacks are announced once a window, then named, and never copied.
 * Returns its slot, with the current task in its record. NULL: it is left out, and
 * counted. *@ret_filtered: a rule left it out. @counts: of the kind.
 */
static __always_inline struct op_slot *
op_event_enter(struct op_counts *counts, __u32 event, bool named, bool *ret_filtered)
{
	return op_event_enter_as(counts, event, named, OP_TICKS_NONE, bpf_ktime_get_ns(),
				 ret_filtered);
}

/* The same for an event that is not counted yet. */
static __always_inline struct op_slot *op_event_begin(__u32 event, bool named)
{
	struct op_counts *counts = op_counts_of(event);
	bool filtered;

	op_count_in(counts, OP_COUNT_TAKEN);
	return op_event_enter(counts, event, named, &filtered);
}

/* The same for a clock's tick at @now, whose value is its period. */
static __always_inline struct op_slot *op_event_tick(__u32 event, __u64 now)
{
	struct op_counts *counts = op_counts_of(event);
	bool filtered;

	op_count_in(counts, OP_COUNT_TAKEN);
	return op_event_enter_as(counts, event, false, OP_TICKS_ONE, now, &filtered);
}

/* The same for many ticks until @now. The caller sets their number. */
static __always_inline struct op_slot *op_event_ticks(__u32 event, __u64 now)
{
	struct op_counts *counts = op_counts_of(event);
	bool filtered;

	op_count_in(counts, OP_COUNT_TAKEN);
	return op_event_enter_as(counts, event, false, OP_TICKS_MANY, now, &filtered);
}

/* Check whether mark number @i of the process of slot @number is unchanged. This and
 * the following functions are global, so that the verifier checks each once. */
__attribute__((noinline)) int op_look_at_mark(__u32 number, __u32 i);
__attribute__((noinline)) int op_look_at_mark(__u32 number, __u32 i)
{
	struct op_slot *slot = op_slot_at(number);
	__u32 off = i * sizeof(struct op_mark);
	struct op_unwind *u;
	op_ref marks;
	bool held;
	__u64 now;

	if (!slot || i >= OP_MARKS_MAX)
		return 0;
	u = &slot->unwind;
	marks = (op_ref)op_arena_u64(u, u->process.at, OP_PROCESS_MARKS);
	if (bpf_probe_read_user(&now, sizeof(now), (void *)op_arena_u64(u, marks, off)))
		return 0; /* the page is not in memory, so the mark is unknown */
	held = now == op_arena_u64(u, marks, off + 8);
	u->marks |= (__u64)(held ? OP_MARK_SEEN_HELD : OP_MARK_SEEN_FAILED)
		    << OP_MARK_BITS * (i + 1);
	slot->record.marks |= (__u16)(held << i);
	return 0;
}

__attribute__((noinline)) int op_look_at_marks(__u32 number, __u32 count);
__attribute__((noinline)) int op_look_at_marks(__u32 number, __u32 count)
{
	__u32 i;

	for (i = 0; i < OP_MARKS_MAX && i < count; i++)
		(void)op_look_at_mark(number, i);
	return 0;
}

/* Look up the process of @task, which is current. @whole: a constant of the program. Returns
 * as below. */
static __always_inline __u32 op_prepare_process(struct op_slot *slot,
						struct task_struct *task, bool whole)
{
	struct op_unwind *u = &slot->unwind;
	struct op_process_key *key;
	__u32 pid = slot->record.pid;
	const __u8 *slab;
	__u64 words;
	op_ref process;
	__u32 off;

	key = bpf_map_lookup_elem(&op_processes, &pid);
	if (!key)
		return OP_END_UNKNOWN;
	/* one word: the process's table, and the number of that table */
	words = *(volatile __u64 *)key;
	process = (op_ref)words;
	slot->record.generation = (__u32)(words >> 32);
	slab = process ? op_platform_slab(u, process >> OP_REF_SLAB_SHIFT) : NULL;
	if (!slab)
		return OP_END_UNKNOWN;
	off = (process << OP_REF_SHIFT) & (OP_SLAB_BYTES - 8);
	u->process.at = process;
	words = op_slab_u64(slab, off, 0);
	/* has the element been reused for another process? */
	if ((__u32)words != slot->record.generation)
		return OP_END_UNKNOWN;
	u->process.mapping_count = (__u32)(words >> 32);
	words = op_slab_u64(slab, off, 1);
	u->process.starts = (op_ref)words;
	u->process.mappings = (op_ref)(words >> 32);
	/* marks | mark_count << 32 */
	words = op_slab_u64(slab, off, OP_PROCESS_MARKS / 8);
	if (words >> 32)
		(void)op_look_at_marks(slot->number, (__u32)(words >> 32));
	words = op_slab_u64(slab, off, OP_PROCESS_CODE_PAGES / 8);
	if (!whole && words) {
		__u64 pages = op_code_pages(task);

		slot->record.code_pages = (__u16)pages;
		if (words != pages)
			slot->record.resumed |= OP_REMAPPED;
	}
	return OP_END_COMPLETE;
}

/* Prepare the walk of @task, which is current. @whole: a constant of the program, because of
 * the verifier's limit. Returns why there is no walk, or OP_END_COMPLETE if it may
 * begin. */
static __always_inline __u32 op_prepare_walk(struct op_slot *slot,
					     struct task_struct *task, bool whole)
{
	struct op_unwind *u = &slot->unwind;

	if (!op_settings.user_stacks)
		return OP_END_OFF;
	if ((OP_CURRENT(task, flags) & PF_KTHREAD) || !OP_CURRENT(task, mm))
		return OP_END_NO_USER;
	/* a kernel worker in a process, as of io_uring or vhost */
	if (!slot->registers.sp)
		return slot->registers.pc ? OP_ERROR_native_compat : OP_END_NO_USER;
	u->pc = slot->registers.pc;
	u->sp = slot->registers.sp;
	u->fp = slot->registers.fp;
	u->lr = slot->registers.lr;
	__builtin_memcpy(u->reg, slot->registers.reg, OP_ARCH_REGS * sizeof(u->reg[0]));
	u->out.max_frames = op_settings.max_frames;
	u->process.thread_pointer = slot->registers.thread_pointer;
	u->process.task_size = slot->registers.task_size;
	op_walk_begin(u);
	if (!whole && bpf_core_field_exists(struct task_struct, utask) &&
	    OP_CURRENT(task, utask)) {
		(void)op_note_uprobes(slot->number);
		u->pc = slot->registers.pc;
		u->sp = slot->registers.sp;
	}
	return op_prepare_process(slot, task, whole);
}

/* Walk here, with the steps of all runtimes that are on. */
static __always_inline void op_walk_whole(struct op_slot *slot)
{
	__u32 number = slot->number;
	int i;

	slot->absent = ~0u;
	for (i = 0; i < OP_WALK_CALLS; i++)
		if (op_walk_some(number) == OP_NEXT_END)
			break;
}

/* Add the thread that woke the sample's thread. */
static __always_inline void op_event_waker(struct op_slot *slot)
{
	if (!op_settings.wakers || !slot->waker.tid)
		return;
	if (!slot->context_bytes)
		__builtin_memset(&slot->context, 0, sizeof(slot->context));
	slot->context.waker = slot->waker;
	slot->context_bytes = sizeof(slot->context);
}

/* Send the string that a probe has read. */
static __always_inline void op_event_text(struct op_slot *slot)
{
	if (!op_settings.argument[0].is_text || !slot->text_bytes)
		return;
	if (!slot->context_bytes)
		__builtin_memset(&slot->context, 0, sizeof(slot->context));
	slot->context_bytes = sizeof(slot->context) + sizeof(slot->text);
}

/* The slot has @bytes of the kernel's stack, or an error. Note them. */
static __always_inline void op_event_kernel(struct op_slot *slot, long bytes)
{
	struct op_unwind *u = &slot->unwind;

	if (bytes < 0)
		bytes = 0;
	slot->record.kernel_count = (__u16)(bytes / 8);
	u->out.words = u->out.words_user = slot->record.kernel_count;
	u->out.frames = 0;
	u->end_pc = 0;
}

/* The slot has the user's registers and @kernel_bytes of the kernel's stack, or an
 * error. Walk the user's stack, and send both. @whole: a constant of the program. */
static __always_inline int op_event_walk_user(void *ctx, struct op_slot *slot,
					      struct task_struct *task, long kernel_bytes,
					      bool whole)
{
	struct op_unwind *u = &slot->unwind;

	slot->registers.thread_pointer = op_task_thread_pointer(task);
	if (!whole) /* a whole program would exceed the verifier's limit with it */
		op_event_context(slot);
	op_event_waker(slot);
	op_event_text(slot);
	op_event_kernel(slot, kernel_bytes);
	u->end = (__u16)op_prepare_walk(slot, task, whole);
	if (op_settings.argument[0].place == OP_ARGUMENT_LATENCY &&
	    (u->end == OP_END_COMPLETE || u->end == OP_END_UNKNOWN)) {
		/* for readers of the stack, the function is still its caller's callee */
		op_push_word(u, op_frame_word(OP_FRAME_NATIVE_EXACT, slot->called));
		u->out.frames = 1;
		u->exact = 0;
	}
	if (u->end == OP_END_COMPLETE && whole) {
		u->end = OP_END_TRUNCATED;
		op_walk_whole(slot);
	} else if (u->end == OP_END_COMPLETE) {
		u->end = OP_END_TRUNCATED;
		bpf_tail_call(ctx, &op_walkers, 0);
		u->end = OP_END_OFF; /* there is no walker: send only the kernel part */
	}
	return op_finish(slot);
}

/* The slot has the user's registers. Take the kernel's stack if @in_kernel, and
 * continue as above. */
static __always_inline int op_event_walk(void *ctx, struct op_slot *slot,
					 struct task_struct *task, bool in_kernel,
					 bool whole)
{
	long kernel_bytes = 0;

	if (in_kernel && op_settings.kernel_stacks)
		kernel_bytes =
			bpf_get_stack(ctx, slot->word, OP_KERNEL_FRAMES_MAX * 8, 0);
	return op_event_walk_user(ctx, slot, task, kernel_bytes, whole);
}

/* The rest of a sample whose context has the interrupted registers: perf events. */
static __always_inline int op_event_perf(struct bpf_perf_event_data *ctx,
					 struct op_slot *slot, bool whole)
{
	struct task_struct *task = op_current_task();
	bool in_kernel = op_user_registers(ctx, task, &slot->registers);

	return op_event_walk(ctx, slot, task, in_kernel, whole);
}

/* The rest of a sample whose context has no registers: tracepoints and probes of the
 * kernel. The kernel saved them when the task entered it. */
static __always_inline int op_event_task(void *ctx, struct op_slot *slot, bool whole)
{
	struct task_struct *task = op_current_task();

	op_saved_registers(task, &slot->registers);
	return op_event_walk(ctx, slot, task, true, whole);
}

#endif
