/* SPDX-License-Identifier: Apache-2.0 */
/* Two programs that take slots and interrupt each other: test_slots.c. */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/slot.h"
#include "tests/live/walkers/slots.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct test_slots);
} test_counts SEC(".maps");

static __always_inline struct test_slots *counts_of(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&test_counts, &zero);
}

/* Take a slot, keep it for @reads of the clock, and see whether it stays ours. */
static __always_inline void use_slot(__u64 mark, int reads)
{
	struct test_slots *counts = counts_of();
	struct op_slot *slot = op_slot_take();
	struct op_slot *other;
	int i;

	if (!counts)
		return;
	if (!slot) {
		counts->none++;
		return;
	}
	counts->taken++;
	if (slot->depth > 1)
		counts->nested++;
	other = op_slot_at(!slot->number);
	if (other && other->users)
		counts->beside++;
	slot->record.value = mark;
	for (i = 0; i < reads; i++)
		(void)bpf_ktime_get_ns();
	if (slot->record.value != mark)
		counts->overwritten++;
	if (op_slot_find() != slot)
		counts->not_found++;
	op_slot_release(slot);
}

SEC("raw_tp/sys_enter")
int test_call(void *ctx)
{
	use_slot(1, 2000);
	return 0;
}

SEC("perf_event")
int test_tick(void *ctx)
{
	use_slot(2, 1);
	return 0;
}
