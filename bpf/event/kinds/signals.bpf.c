/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Signals that end a process, at their delivery: the thread still has its registers and
 * its memory. A process ends once, so only the first of its threads gives a sample. */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/event.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

enum {
	OP_SIGKILL = 9,
	/* include/linux/sched/signal.h: init of a PID namespace */
	OP_SIGNAL_UNKILLABLE = 0x40,
	/* signals with a fault address */
	OP_SIGNAL_FAULTS = 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 11,
	/* By default CHLD, CONT, URG and WINCH are ignored; STOP, TSTP, TTIN and TTOU
	 * stop. */
	OP_SIGNAL_HARMLESS = 1 << 17 | 1 << 18 | 1 << 23 | 1 << 28 | 1 << 19 | 1 << 20 |
			     1 << 21 | 1 << 22,
	OP_SIGNAL_OF_CODE = 0x7f, /* of an exit code: what ended the task */
	OP_ENDED_MAX = 1024,
};

/* QUIT, ILL, TRAP, ABRT, BUS, FPE, SEGV, XCPU, XFSZ and SYS end with a core. */
#define OP_SIGNAL_CORE                                                                   \
	(1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 7 | 1u << 8 | 1u << 11 |          \
	 1u << 24 | 1u << 25 | 1u << 31)

/* The first members of siginfo_t, whose layout is part of the kernel's user interface. */
struct op_siginfo {
	__s32 signal;
	__s32 error;
	__s32 code;
	__s32 reserved0;
	__u64 address; /* the fault address, with OP_SIGNAL_FAULTS */
};

/* Address of the struct signal_struct of a process that got its signal -> the start
 * time of the process, because another process may get a struct at this address later. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, OP_ENDED_MAX);
	__type(key, __u64);
	__type(value, __u64);
} op_signals_ended SEC(".maps");

/* Is this the first fatal signal of the process of @task? Notes it. */
static __always_inline bool op_is_news(struct task_struct *task)
{
	__u64 key = (__u64)BPF_CORE_READ(task, signal);
	__u64 start = BPF_CORE_READ(task, group_leader, start_time);
	__u64 *known = bpf_map_lookup_elem(&op_signals_ended, &key);

	if (known && *known == start)
		return false;
	if (!known)
		return !bpf_map_update_elem(&op_signals_ended, &key, &start, BPF_NOEXIST);
	return !bpf_map_update_elem(&op_signals_ended, &key, &start, BPF_ANY);
}

/*
 * Does the current thread's fatal @signal count, and not that of another thread of the
 * process? A thread with a signal of its own (@own) is the first, unless two come at
 * the same moment. The others get SIGKILL. If one signal ends the whole process at
 * once, the kernel gives SIGKILL to all threads. Then the first thread counts, so the
 * map is large enough for any number of processes. If the first had ended before,
 * another one counts.
 */
static __always_inline bool op_counts_here(struct task_struct *task, __u32 signal,
					   bool own)
{
	struct task_struct *leader;

	if (own)
		return op_is_news(task);
	/* a thread wrote the core, or is about to, and was sampled */
	if (signal < 32 && OP_SIGNAL_CORE >> signal & 1)
		return false;
	leader = BPF_CORE_READ(task, group_leader);
	if (leader != task && (!(BPF_CORE_READ(leader, flags) & PF_EXITING) ||
			       BPF_CORE_READ(leader, exit_code) & OP_SIGNAL_OF_CODE))
		return false;
	return op_is_news(task);
}

/* The signal that ends the process of @task, or 0. *@ret has details. */
static __always_inline __u32 op_fatal_signal(const __u64 *args, struct task_struct *task,
					     struct op_siginfo *ret)
{
	struct k_sigaction *action = (struct k_sigaction *)args[2];
	__u32 signal = (__u32)args[0];

	ret->code = OP_SIGNAL_CODE_NONE;
	ret->address = 0;
	/* Another thread ended the process, or it ended itself by exit_group(2). */
	if (signal == OP_SIGKILL && !args[1])
		return (__u32)BPF_CORE_READ(task, signal, group_exit_code) &
		       ((1u << OP_SIGNAL_BITS) - 1);
	if (BPF_CORE_READ(action, sa.sa_handler) ||
	    (signal < 32 && OP_SIGNAL_HARMLESS >> signal & 1))
		return 0;
	if (signal != OP_SIGKILL &&
	    BPF_CORE_READ(task, signal, flags) & OP_SIGNAL_UNKILLABLE)
		return 0;
	if (args[1] > 1 &&
	    bpf_probe_read_kernel(ret, sizeof(*ret), (const void *)args[1]))
		ret->code = OP_SIGNAL_CODE_NONE;
	return signal;
}

static __always_inline int op_deliver(struct bpf_raw_tracepoint_args *ctx, bool whole)
{
	struct task_struct *task = op_current_task();
	struct op_siginfo info;
	__u32 signal = op_fatal_signal(ctx->args, task, &info);
	struct op_slot *slot;

	if (!signal || !op_counts_here(task, signal,
				       (__u32)ctx->args[0] != OP_SIGKILL || ctx->args[1]))
		return 0;
	slot = op_event_begin(OP_EVENT_SIGNALS, false);
	if (!slot)
		return 0;
	slot->record.detail = (__u16)(info.code * (1 << OP_SIGNAL_BITS) | signal);
	/* with an si_code of 0 or below, a process has sent the signal */
	if (signal < 32 && OP_SIGNAL_FAULTS >> signal & 1 && info.code > 0)
		slot->record.value = info.address;
	return op_event_task(ctx, slot, whole);
}

SEC("raw_tp")
int op_signals(struct bpf_raw_tracepoint_args *ctx)
{
	return op_deliver(ctx, false);
}

SEC("raw_tp")
int op_signals_whole(struct bpf_raw_tracepoint_args *ctx)
{
	return op_deliver(ctx, true);
}
