/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Slots hold the state of walks under way. Programs interrupt each other on a CPU (a
 * clock tick in a walk that a system call began), and on some kernels a task is
 * preempted in the middle of one. So a CPU has a few slots, and each type of program
 * has its own ones (op_settings). Then it does not matter which type interrupts which.
 *
 * Programs of perf events do not interrupt each other and are not preempted. They have
 * one slot, which a plain flag guards. A program of another type takes the first free
 * slot of its type. A tail call takes no argument, so the walker finds its slot by the
 * task. Walks of one task nest, and the inner one ends before the outer one continues,
 * so the walker's slot is the deepest one of the task.
 */
#ifndef OP_SLOT_H
#define OP_SLOT_H

#include "bpf/event/settings.h"
#include "bpf/platform/maps.h"
#include "bpf/walk/unwind.h"

__attribute__((noinline)) __u64 op_arena_word(op_ref ref, __u32 offset)
{
	return op_arena_u64(0, ref, offset);
}

static __always_inline struct op_slot *op_slot_at(__u32 i)
{
	return bpf_map_lookup_elem(&op_slots, &i);
}

/* Slot @i of those for this type of program, or NULL. */
static __always_inline struct op_slot *op_slot_own(__u32 i)
{
	return i < op_settings.slots ? op_slot_at(op_settings.slot_first + i) : NULL;
}

/* The number of slots of this CPU that @task has; *@ret is the deepest one, or NULL. */
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

/* Take the slot of programs that do not interrupt each other. Returns NULL if it is in
 * use. */
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
 * Take a slot. Returns NULL if all are in use. The walk that increments `users` and
 * then reads 1 has the slot. No other walk can get it until that walk has ended, in
 * whatever order walks interrupt each other.
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
