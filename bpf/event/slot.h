/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Slots: where a walk under way keeps its state. Programs interrupt each other on a CPU (a
 * clock tick in a walk that a system call began), and on some kernels a task is preempted
 * in the middle of one. So a CPU has a few slots, and each type of program has its own of
 * them (op_settings): which one interrupts which does not matter then.
 *
 * Programs of perf events do not run inside each other, and are not preempted: they have one
 * slot, which a plain flag guards. Those of the other types take the first of theirs that is
 * free. A tail call takes no argument: the walker finds its slot by the task. Walks of one
 * task nest, the inner one ends before the outer one goes on; so it is the deepest of the
 * task.
 */
#ifndef OP_SLOT_H
#define OP_SLOT_H

#include "bpf/event/settings.h"
#include "bpf/platform/maps.h"
#include "bpf/walk/unwind.h"

static __always_inline struct op_slot *op_slot_at(__u32 i)
{
	return bpf_map_lookup_elem(&op_slots, &i);
}

/* Slot @i of those that are for this type of program, or NULL. */
static __always_inline struct op_slot *op_slot_own(__u32 i)
{
	return i < op_settings.slots ? op_slot_at(op_settings.slot_first + i) : NULL;
}

/* How many slots of this CPU has @task; *@ret is the deepest one, or NULL. */
static __always_inline __u32 op_slot_depth(__u64 task, struct op_slot **ret)
{
	__u32 depth = 0;
	__u32 i;

	*ret = NULL;
#pragma unroll
	for (i = 0; i < OP_SLOTS_MAX; i++) {
		struct op_slot *slot = op_slot_own(i);

		if (slot && slot->task == task && slot->depth > depth) {
			depth = slot->depth;
			*ret = slot;
		}
	}
	return depth;
}

/* The slot of the current task's innermost walk, or NULL. */
static __always_inline struct op_slot *op_slot_find(void)
{
	struct op_slot *slot;

	if (op_settings.slot_alone)
		return op_slot_own(0);
	(void)op_slot_depth(bpf_get_current_task(), &slot);
	return slot;
}

/* The slot of programs that do not interrupt each other, or NULL where it is in use. */
static __always_inline struct op_slot *op_slot_take_alone(void)
{
	struct op_slot *slot = op_slot_own(0);

	if (!slot || *(volatile __u64 *)&slot->users)
		return NULL;
	*(volatile __u64 *)&slot->users = 1;
	slot->depth = 1;
	slot->number = op_settings.slot_first;
	return slot;
}

/*
 * Take a slot, or NULL where all are in use. Whoever adds itself to `users` and then reads
 * 1 has it: nobody else can until it has gone, in whatever order they are interrupted.
 */
static __always_inline struct op_slot *op_slot_take(void)
{
	__u64 task;
	struct op_slot *slot;
	__u32 depth;
	__u32 i;

	if (op_settings.slot_alone)
		return op_slot_take_alone();
	task = bpf_get_current_task();
	depth = op_slot_depth(task, &slot) + 1;
#pragma unroll
	for (i = 0; i < OP_SLOTS_MAX; i++) {
		slot = op_slot_own(i);
		if (!slot || *(volatile __u64 *)&slot->users)
			continue;
		__sync_fetch_and_add(&slot->users, 1);
		if (*(volatile __u64 *)&slot->users == 1) {
			slot->depth = depth;
			slot->number = op_settings.slot_first + i;
			*(volatile __u64 *)&slot->task = task;
			return slot;
		}
		__sync_fetch_and_add(&slot->users, -1);
	}
	return NULL;
}

static __always_inline void op_slot_release(struct op_slot *slot)
{
	if (op_settings.slot_alone) {
		*(volatile __u64 *)&slot->users = 0;
		return;
	}
	*(volatile __u64 *)&slot->task = 0;
	__sync_fetch_and_add(&slot->users, -1);
}

#endif
