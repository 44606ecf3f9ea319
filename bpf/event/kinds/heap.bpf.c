/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Allocations: the static probes otel_memory:alloc and otel_memory:free. A sampler in
 * the process hits them for the allocations that it samples. The places of the
 * arguments are constants of each program (op_settings.argument). Sampled allocations
 * that are not freed yet are kept in a map, because the ring may lose records and a map
 * does not. User space reads the map when it closes a window.
 *
 * None of this data can be trusted: a process may hit the probes as often as it likes,
 * with any numbers. So samples, weights and each process's entries in the map are
 * limited. Near a limit, fewer new samples are kept, and each stands for more
 * (op_heap_threshold()).
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
	OP_HEAP_ADDRESS = 0, /* indices of alloc's arguments; free has only the first */
	OP_HEAP_SIZE = 1,
	OP_HEAP_WEIGHT = 2,
	/* A weight has 40 bits, so the random number has 24. */
	OP_HEAP_CHANCE_SHIFT = 32 - (64 - OP_HEAP_BYTES_BITS),
};

/* Key: op_heap_key(). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OP_HEAP_LIVE_MAX);
	__type(key, __u64);
	__type(value, struct op_heap_live);
} op_heap_lives SEC(".maps");

/* Pid -> the process's use of op_heap_lives. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OP_HEAP_PROCESSES_MAX);
	__type(key, __u32);
	__type(value, struct op_heap_use);
} op_heap_of_pid SEC(".maps");

/* The use of all processes, in an array, because a look-up there costs next to nothing. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct op_heap_use);
} op_heap_of_all SEC(".maps");

/* A hash of an address in a process. It is keyed, so that a process cannot choose
 * addresses that collide with another's. */
static __always_inline __u64 op_heap_key(__u32 pid, __u64 address)
{
	struct op_hash h = { { op_settings.hash_seed, ~op_settings.hash_seed } };

	op_hash_add(&h, pid);
	op_hash_add(&h, address);
	op_hash_end(&h);
	return h.word[0];
}

/* The entry of @pid in op_heap_of_pid; NULL if the map is full. */
static __always_inline struct op_heap_use *op_heap_use_of(__u32 pid)
{
	struct op_heap_use *use = bpf_map_lookup_elem(&op_heap_of_pid, &pid);
	struct op_heap_use none = { 0 };

	if (use)
		return use;
	(void)bpf_map_update_elem(&op_heap_of_pid, &pid, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&op_heap_of_pid, &pid);
}

static __always_inline struct op_heap_use *op_heap_use_of_all(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&op_heap_of_all, &zero);
}

static __always_inline void op_heap_held(struct op_heap_use *use, __u32 more)
{
	if (use && (more == 1 || use->held))
		__sync_fetch_and_add(&use->held, more);
}

/* The larger one of @threshold and that of @use, which counts @weight as new. */
static __always_inline __u64 op_heap_ask(struct op_heap_use *use, __u32 limit,
					 __u64 weight, __u64 threshold)
{
	__u64 own;

	if (!use)
		return threshold;
	own = op_heap_threshold(use, limit);
	/* a weight that the sampler itself has raised is no reason to keep fewer */
	if (!own)
		op_heap_use_see(use, weight);
	return own > threshold ? own : threshold;
}

/* Is a sample of @weight kept at @threshold? */
static __always_inline bool op_heap_chance(__u64 weight, __u64 threshold)
{
	if (weight >= threshold)
		return true;
	return (bpf_get_prandom_u32() >> OP_HEAP_CHANCE_SHIFT) * threshold <
	       weight << (32 - OP_HEAP_CHANCE_SHIFT);
}

/* Remove the entry of @key, whose address was freed. */
static __always_inline void op_heap_forget(__u32 pid, __u64 key)
{
	if (bpf_map_delete_elem(&op_heap_lives, &key))
		return;
	op_heap_held(bpf_map_lookup_elem(&op_heap_of_pid, &pid), (__u32)-1);
	op_heap_held(op_heap_use_of_all(), (__u32)-1);
}

/* Keep the sampled address until it is freed. Returns false if the map is full. */
static __always_inline bool op_heap_keep(const struct op_slot *slot, __u64 address)
{
	const struct op_record *r = &slot->record;
	__u64 key = op_heap_key(r->pid, address);
	__u64 weight = r->value & OP_HEAP_BYTES_MAX;
	struct op_heap_live live = { .time_ns = r->time_ns,
				     .pid = r->pid,
				     .tid = r->tid };
	struct op_heap_use *all = op_heap_use_of_all();
	struct op_heap_use *use = op_heap_use_of(r->pid);
	__u64 threshold = op_heap_ask(all, OP_HEAP_LIVE_MAX, weight, 0);

	threshold = op_heap_ask(use, OP_HEAP_LIVE_A_PROCESS, weight, threshold);
	if (!op_heap_chance(weight, threshold)) {
		/* the free of an earlier allocation at this address may have been missed */
		op_heap_forget(r->pid, key);
		return true;
	}
	if (weight < threshold)
		weight = threshold;
	live.value = (r->value & ~OP_HEAP_BYTES_MAX) | weight;
	if ((!use || use->held < OP_HEAP_LIVE_A_PROCESS) &&
	    !bpf_map_update_elem(&op_heap_lives, &key, &live, BPF_NOEXIST)) {
		op_heap_held(use, 1);
		op_heap_held(all, 1);
		return true;
	}
	/* the free of an earlier allocation at this address may have been missed */
	return !bpf_map_update_elem(&op_heap_lives, &key, &live, BPF_EXIST);
}

static __always_inline int op_allocated(void *ctx, bool whole)
{
	struct op_slot *slot = op_rate_begin(OP_EVENT_HEAP);
	__u64 registers;
	__u64 weight;

	if (!slot)
		return 0;
	registers = (__u64)op_task_registers(op_current_task());
	weight = op_argument_read(registers, OP_HEAP_WEIGHT);
	if (weight > OP_HEAP_BYTES_MAX)
		weight = OP_HEAP_BYTES_MAX;
	/* the weight has all hits; their product fits 64 bits */
	if (slot->record.hits >> (64 - OP_HEAP_BYTES_BITS))
		weight = OP_HEAP_BYTES_MAX;
	else
		weight *= slot->record.hits;
	slot->record.hits = 1;
	slot->record.value =
		op_heap_value(op_argument_read(registers, OP_HEAP_SIZE), weight);
	if (!op_heap_keep(slot, op_argument_read(registers, OP_HEAP_ADDRESS)))
		op_count(OP_EVENT_HEAP, OP_COUNT_UNTRACKED);
	return op_event_task(ctx, slot, whole);
}

SEC("kprobe")
int op_heap(void *ctx)
{
	return op_allocated(ctx, false);
}

SEC("kprobe")
int op_heap_whole(void *ctx)
{
	return op_allocated(ctx, true);
}

SEC("kprobe")
int op_heap_free(void *ctx)
{
	struct task_struct *task = op_current_task();
	__u32 pid;
	__u32 tid;

	(void)ctx;
	if (!op_task_ids(task, &pid, &tid))
		return 0;
	/* there is no entry if the filter left its allocation out */
	op_heap_forget(pid,
		       op_heap_key(pid, op_argument_read((__u64)op_task_registers(task),
							 OP_HEAP_ADDRESS)));
	return 0;
}
