/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Walks a stack by global functions on kernels without bpf_loop(). The verifier checks
 * a global function once, and not in every iteration of a loop. */
#ifndef OP_WALKER_H
#define OP_WALKER_H

#include "bpf/event/object.h"
#include "bpf/event/slot.h"
#include "bpf/walk/step.h"

enum {
	OP_STEPS_MAX = 2 * OP_FRAMES_MAX + 16, /* a runtime's step for each native one */
	OP_STEPS_A_CALL = 64,
	/* Calls of op_walk_some(), with one for each runtime whose program is missing. */
	OP_WALK_CALLS = OP_STEPS_MAX / OP_STEPS_A_CALL + OP_RUNTIME_MAX,
	/* in addition to enum op_next: another runtime's program is wanted */
	OP_NEXT_OTHER = 2,
};

/* Run the next step. Returns OP_NEXT_OTHER if another program may have it and this one
 * does not. */
__attribute__((noinline)) int op_walk_once(__u32 number);
__attribute__((noinline)) int op_walk_once(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	__u32 step;

	if (!slot)
		return OP_NEXT_END;
	step = slot->unwind.step;
	if (step != OP_STEP_NATIVE && step < OP_RUNTIME_MAX &&
	    !(op_settings.runtimes_on >> step & 1) && !(slot->absent >> step & 1))
		return OP_NEXT_OTHER;
	return op_step(&slot->unwind, op_settings.runtimes_on);
}

/* Run at most OP_STEPS_A_CALL steps, until one returns something else than
 * OP_NEXT_CONTINUE. */
__attribute__((noinline)) int op_walk_some(__u32 number);
__attribute__((noinline)) int op_walk_some(__u32 number)
{
	int next = OP_NEXT_CONTINUE;
	int i;

	for (i = 0; i < OP_STEPS_A_CALL && next == OP_NEXT_CONTINUE; i++)
		next = op_walk_once(number);
	return next;
}

#endif
