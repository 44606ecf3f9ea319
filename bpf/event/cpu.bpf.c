/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The CPU sampler. op_sample runs at every tick of a CPU's clock event: it filters, takes
 * the kernel stack and the user registers, finds the process, and tail-calls the walker.
 * op_walk (kernels with bpf_loop) or op_walk_tail (before 5.17) walks the user stack and
 * sends the record; so does op_sample itself where there is nothing to walk.
 */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/exec.h"
#include "bpf/event/filter.h"
#include "bpf/event/task.h"
#include "bpf/platform/maps.h"
#include "bpf/walk/registers.h"
#include "bpf/walk/step.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

/* Set before loading. */
const volatile __u64 op_runtimes_on = 0; /* a bit a runtime: steps of the walker */
const volatile __u32 op_max_frames = OP_FRAMES_MAX;
const volatile __u32 op_kernel_stacks = 1;
const volatile __u32 op_user_stacks = 1;
const volatile __u32 op_keep_idle = 0;
const volatile __u64 op_wakeup_bytes =
	65536; /* of the ring, waiting, that wake user space */

enum {
	OP_STEPS_MAX =
		2 * OP_FRAMES_MAX + 16, /* a runtime's step beside each native one */
	OP_PAGE_BYTES = 4096,
	OP_TAIL_STEPS = 48,	/* of one program of the tail-call walker */
	OP_TAIL_CALLS_MAX = 31, /* the kernel allows 33 */
};

static __always_inline void op_count(__u32 counter)
{
	__u64 *value = bpf_map_lookup_elem(&op_counters, &counter);

	if (value)
		*value += 1;
}

/* Send the record and release the CPU's state. */
static __always_inline int op_send(struct op_cpu *cpu)
{
	struct op_unwind *u = &cpu->unwind;
	struct op_record *r = &cpu->record;
	__u64 flags = BPF_RB_NO_WAKEUP;
	__u32 bytes;

	r->end = u->end;
	r->end_pc = u->end_pc;
	r->user_frames = (__u16)u->frames;
	r->user_words = (__u16)(u->words - u->words_user);
	bytes = sizeof(*r) + u->words * 8;
	if (u->end == OP_END_UNKNOWN) {
		bytes = sizeof(*r) + u->words_user * 8 + sizeof(struct op_registers) +
			r->stack_bytes;
		flags = BPF_RB_FORCE_WAKEUP; /* to be walked while its process lives */
		op_count(OP_COUNT_UNKNOWN);
	} else if (u->end == OP_END_COMPLETE) {
		op_count(OP_COUNT_COMPLETE);
	} else if (u->end == OP_END_TRUNCATED) {
		op_count(OP_COUNT_TRUNCATED);
	} else if (u->end >= OP_ERROR_FIRST && u->end < OP_ERROR_LIMIT) {
		op_count(OP_COUNT_BROKEN);
		op_count(OP_COUNT_ERRORS + u->end - OP_ERROR_FIRST);
	}
	if (bpf_ringbuf_query(&op_ring, BPF_RB_AVAIL_DATA) >= op_wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	op_platform_bound(bytes);
	if (bytes > sizeof(*r) + sizeof(cpu->word))
		bytes = sizeof(*r) + sizeof(cpu->word);
	op_count(bpf_ringbuf_output(&op_ring, r, bytes, flags) ? OP_COUNT_RING_FULL
							       : OP_COUNT_OUTPUT);
	cpu->busy = 0;
	return 0;
}

/*
 * Put the registers and the top of the user's stack into the record, for user space to
 * walk: the process, or a table it needs, is not known yet.
 */
static __always_inline void op_copy_stack(struct op_cpu *cpu)
{
	struct op_unwind *u = &cpu->unwind;
	__u32 at = u->words_user;
	__u64 sp = cpu->registers.sp;
	__u32 bytes;
	__u8 *to;
	int i;

	op_platform_bound(at);
	if (at > OP_KERNEL_FRAMES_MAX)
		return;
	to = (__u8 *)&cpu->word[at];
	bpf_probe_read_kernel(to, sizeof(cpu->registers), &cpu->registers);
	to += sizeof(cpu->registers);
	u->words = u->words_user;
	u->frames = 0;
	/* The stack may end at any page: up to the first boundary, then page by page. */
	bytes = OP_PAGE_BYTES - (sp & (OP_PAGE_BYTES - 1));
	if (bpf_probe_read_user(to, bytes, (void *)sp))
		bytes = 0;
	for (i = 0; bytes && i < OP_STACK_COPY_BYTES / OP_PAGE_BYTES - 1; i++) {
		op_platform_bound(bytes);
		if (bytes > OP_STACK_COPY_BYTES - OP_PAGE_BYTES ||
		    bpf_probe_read_user(to + bytes, OP_PAGE_BYTES, (void *)(sp + bytes)))
			break;
		bytes += OP_PAGE_BYTES;
	}
	cpu->record.stack_bytes = (__u16)bytes;
}

/* The walk ended, or never began: complete the record and send it. */
static __always_inline int op_finish(struct op_cpu *cpu)
{
	/* A pc in no mapping may be in one that user space is about to hear of; but not
	 * where the way to it was a guess, as in JIT code that keeps no frame pointer. */
	if (cpu->unwind.end == OP_END_UNKNOWN ||
	    (cpu->unwind.end == OP_ERROR_native_no_mapping && !cpu->unwind.guessed)) {
		cpu->unwind.end = OP_END_UNKNOWN;
		op_copy_stack(cpu);
	}
	return op_send(cpu);
}

/* ---- walkers ---- */

struct op_walk_context {
	struct op_cpu *cpu;
};

static long op_walk_step(__u32 i, struct op_walk_context *context)
{
	return op_step(&context->cpu->unwind, op_runtimes_on);
}

SEC("perf_event")
int op_walk(struct bpf_perf_event_data *ctx)
{
	struct op_walk_context context = { .cpu = op_this_cpu() };

	if (!context.cpu)
		return 0;
	context.cpu->unwind.end = OP_END_TRUNCATED;
	bpf_loop(OP_STEPS_MAX, op_walk_step, &context, 0);
	return op_finish(context.cpu);
}

/* Not inlined: the verifier then forgets, after each step, how it went. */
static __attribute__((noinline)) int op_walk_tail_step(struct op_cpu *cpu)
{
	return op_step(&cpu->unwind, op_runtimes_on);
}

SEC("perf_event")
int op_walk_tail(struct bpf_perf_event_data *ctx)
{
	struct op_cpu *cpu = op_this_cpu();
	int i;

	if (!cpu)
		return 0;
	cpu->unwind.end = OP_END_TRUNCATED;
	for (i = 0; i < OP_TAIL_STEPS; i++)
		if (op_walk_tail_step(cpu) != OP_NEXT_CONTINUE)
			return op_finish(cpu);
	if (cpu->tail_calls++ < OP_TAIL_CALLS_MAX)
		bpf_tail_call(ctx, &op_walkers, 0);
	return op_finish(cpu);
}

/* ---- entry ---- */

/* Prepare the walk: what is known of the process. Returns why there is none, or
 * OP_END_COMPLETE where it may begin. */
static __always_inline __u32 op_prepare_walk(struct op_cpu *cpu, struct task_struct *task)
{
	struct op_unwind *u = &cpu->unwind;
	struct op_process_key *key;
	__u32 pid = cpu->record.pid;
	__u64 words;
	op_ref process;

	if (!op_user_stacks)
		return OP_END_OFF;
	if ((BPF_CORE_READ(task, flags) & PF_KTHREAD) || !BPF_CORE_READ(task, mm))
		return OP_END_NO_USER;
	if (!cpu->registers.sp)
		return OP_ERROR_native_compat;
	u->pc = cpu->registers.pc;
	u->sp = cpu->registers.sp;
	u->fp = cpu->registers.fp;
	u->lr = cpu->registers.lr;
	bpf_probe_read_kernel(u->reg, sizeof(u->reg), cpu->registers.reg);
	u->max_frames = op_max_frames;
	u->thread_pointer = cpu->registers.thread_pointer;
	u->task_size = cpu->registers.task_size;
	op_walk_begin(u);

	key = bpf_map_lookup_elem(&op_processes, &pid);
	if (!key)
		return OP_END_UNKNOWN;
	/* One word, as it is switched: never a process with the number of another. */
	words = *(volatile __u64 *)key;
	process = (op_ref)words;
	cpu->record.generation = (__u32)(words >> 32);
	if (!process)
		return OP_END_UNKNOWN;
	u->process = process;
	words = op_arena_u64(u, process, 0);
	if ((__u32)words != cpu->record.generation)
		return OP_END_UNKNOWN; /* the element was given to another meanwhile */
	u->mapping_count = (__u32)(words >> 32);
	words = op_arena_u64(u, process, 8);
	u->starts = (op_ref)words;
	u->mappings = (op_ref)(words >> 32);
	return OP_END_COMPLETE;
}

SEC("perf_event")
int op_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = op_current_task();
	struct op_cpu *cpu = op_this_cpu();
	struct op_record *r;
	long kernel_bytes = 0;
	bool in_kernel;
	__u32 why;

	op_count(OP_COUNT_TAKEN);
	if (!cpu)
		return 0;
	if (!op_keep_idle && (__u32)bpf_get_current_pid_tgid() == 0) {
		op_count(OP_COUNT_IDLE);
		return 0;
	}
	if (cpu->busy) {
		op_count(OP_COUNT_NESTED);
		return 0;
	}
	r = &cpu->record;
	r->time_ns = bpf_ktime_get_ns();
	bpf_get_current_comm(r->comm, sizeof(r->comm));
	if (!op_task_ids(task, &r->pid, &r->tid)) {
		op_count(OP_COUNT_FILTERED);
		return 0;
	}
	if (!op_filter_keeps()) {
		op_count(OP_COUNT_FILTERED);
		return 0;
	}
	cpu->busy = 1;
	cpu->tail_calls = 0;
	r->value = 0;
	r->cgroup = bpf_get_current_cgroup_id();
	r->cpu = bpf_get_smp_processor_id();
	r->generation = 0;
	r->event = OP_EVENT_CPU;
	r->stack_bytes = 0;

	in_kernel = op_user_registers(ctx, task, &cpu->registers);
	cpu->registers.thread_pointer = op_task_thread_pointer(task);
	if (in_kernel && op_kernel_stacks)
		kernel_bytes = bpf_get_stack(ctx, cpu->word, OP_KERNEL_FRAMES_MAX * 8, 0);
	if (kernel_bytes < 0)
		kernel_bytes = 0;
	r->kernel_count = (__u16)(kernel_bytes / 8);
	cpu->unwind.words = cpu->unwind.words_user = r->kernel_count;
	cpu->unwind.frames = 0;
	cpu->unwind.end_pc = 0;
	why = op_prepare_walk(cpu, task);
	cpu->unwind.end = (__u16)why;
	if (why == OP_END_COMPLETE) {
		bpf_tail_call(ctx, &op_walkers, 0);
		cpu->unwind.end =
			OP_END_OFF; /* no walker: the kernel part goes out alone */
	}
	return op_finish(cpu);
}
