/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes: places in programs and in the kernel that a user names. One copy of this
 * program is loaded for each probe, with the program type that its place needs.
 * op_settings.detail is the probe's number. The program does not use its context for
 * the stack: the user registers are those that the kernel saved at its entry, which at
 * a breakpoint are the ones of that place. The value of a probe, if it has one, comes
 * from the context: registers, or the arguments of a tracepoint.
 *
 * Events of perf have a program of their own, whose value is the number of events that
 * the sample stands for.
 */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/argument.h"
#include "bpf/event/rate.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

enum {
	/* Current calls whose latency is measured. Beyond this the oldest is lost. */
	OP_CALLS_MAX = 16384,
};

struct op_timed_call {
	/* sp of its caller at the return, because calls of a function may nest */
	__u64 sp;
	__u32 tid;
	__u32 probe; /* its number */
};

struct op_timed_begin {
	__u64 time_ns;
	__u64 pc;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, OP_CALLS_MAX);
	__type(key, struct op_timed_call);
	__type(value, struct op_timed_begin);
} op_calls SEC(".maps");

static __always_inline struct op_timed_call op_timed_call_of(__u64 sp)
{
	return (struct op_timed_call){ sp, (__u32)bpf_get_current_pid_tgid(),
				       op_settings.detail };
}

/* The time is taken last, so that the cost of the probe is not a part of the call. */
static __always_inline int op_call_begins(void)
{
	const struct pt_regs *regs = op_task_registers(op_current_task());
	struct op_timed_call call = op_timed_call_of(op_called_sp(regs));
	struct op_timed_begin begun = { .pc = op_called_pc(regs) };

	begun.time_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&op_calls, &call, &begun, BPF_ANY);
	return 0;
}

/* A call has returned. *@ret: its start and its caller. Returns false if they are lost. */
static __always_inline bool op_call_ended(struct op_timed_begin *ret)
{
	struct op_timed_call call =
		op_timed_call_of(op_returned_sp(op_task_registers(op_current_task())));
	struct op_timed_begin *begun = bpf_map_lookup_elem(&op_calls, &call);

	if (!begun)
		return false;
	*ret = *begun;
	bpf_map_delete_elem(&op_calls, &call);
	return true;
}

/* As below, for a probe that measures latency. */
static __always_inline int op_latency(void *ctx, bool whole)
{
	__u64 now = bpf_ktime_get_ns();
	struct op_timed_begin begun;
	struct op_slot *slot;

	if (!op_call_ended(&begun)) {
		op_count(OP_EVENT_PROBES, OP_COUNT_TAKEN);
		op_count(OP_EVENT_PROBES, OP_COUNT_NO_MEMORY);
		return 0;
	}
	slot = op_rate_begin(OP_EVENT_PROBES);
	if (!slot)
		return 0;
	slot->called = begun.pc;
	slot->record.value = now - begun.time_ns;
	return op_event_task(ctx, slot, whole);
}

/* Read the string of a hit. Its page may be absent, because a program cannot wait for
 * it. */
static __always_inline void op_hit_text(struct op_slot *slot, __u64 registers)
{
	const void *at = (const void *)op_argument_read(registers, 0);
	long bytes = bpf_probe_read_user_str(slot->text, sizeof(slot->text), at);

	slot->text_bytes = bytes < 0 ? 0 : sizeof(slot->text);
	if (bytes < 0)
		op_count(OP_EVENT_PROBES, OP_COUNT_CONTEXT_UNREAD);
	else if (bytes == sizeof(slot->text)) /* it ends here, or was cut */
		op_count(OP_EVENT_PROBES, OP_COUNT_CONTEXT_CUT);
}

static __always_inline int op_hit(void *ctx, bool whole)
{
	struct op_slot *slot;

	if (op_settings.argument[0].place == OP_ARGUMENT_CALL)
		return op_call_begins();
	if (op_settings.argument[0].place == OP_ARGUMENT_LATENCY)
		return op_latency(ctx, whole);
	slot = op_rate_begin(OP_EVENT_PROBES);
	if (!slot)
		return 0;
	if (op_settings.argument[0].is_text)
		op_hit_text(slot, (__u64)ctx);
	else if (op_settings.argument[0].bytes)
		slot->record.value = op_argument_read((__u64)ctx, 0);
	return op_event_task(ctx, slot, whole);
}

/* The count of this program's event on a CPU, at its last sample. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} op_perf_counts SEC(".maps");

/* How many events have passed since the last sample, this one included. At a rate the
 * period in the context is the one that the kernel has just chosen, by which no event
 * has come yet. */
static __always_inline __u64 op_perf_passed(struct bpf_perf_event_data *ctx)
{
	struct bpf_perf_event_value now = { 0 };
	__u32 zero = 0;
	__u64 *last = bpf_map_lookup_elem(&op_perf_counts, &zero);
	__u64 passed;

	if (!last || bpf_perf_prog_read_value(ctx, &now, sizeof(now)))
		return ctx->sample_period;
	passed = now.counter - *last;
	*last = now.counter;
	return passed;
}

static __always_inline int op_counted(struct bpf_perf_event_data *ctx, bool whole)
{
	/* if the kernel changes the period, read the event's count */
	__u64 passed =
		op_settings.argument[0].bytes ? op_perf_passed(ctx) : ctx->sample_period;
	struct op_slot *slot;

	if (!op_settings.keep_idle && op_is_idle(op_current_task())) {
		op_count(OP_EVENT_PROBES, OP_COUNT_TAKEN);
		op_count(OP_EVENT_PROBES, OP_COUNT_IDLE);
		return 0;
	}
	slot = op_rate_begin(OP_EVENT_PROBES);
	if (!slot)
		return 0;
	slot->record.value = passed;
	return op_event_perf(ctx, slot, whole);
}

SEC("perf_event")
int op_perf(struct bpf_perf_event_data *ctx)
{
	return op_counted(ctx, false);
}

SEC("perf_event")
int op_perf_whole(struct bpf_perf_event_data *ctx)
{
	return op_counted(ctx, true);
}

SEC("kprobe")
int op_probes(void *ctx)
{
	return op_hit(ctx, false);
}

SEC("kprobe")
int op_probes_whole(void *ctx)
{
	return op_hit(ctx, true);
}
