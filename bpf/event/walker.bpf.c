/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The walkers. User space loads the one that this kernel takes, once for each program type
 * that an entry has (it sets the type; nothing here depends on it):
 *
 *   op_walk       one bpf_loop() over the steps of all runtimes (5.17)
 *   op_walk_each  one program a runtime
 *
 * A program of one runtime has the native step and its own. Where another runtime's frame
 * is met it tail-calls that one's program. A kernel that takes neither has the walk in the
 * entry itself (event.h).
 */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/chain.h"
#include "bpf/event/send.h"
#include "bpf/event/slot.h"
#include "bpf/event/walker.h"
#include "bpf/walk/fold.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

enum {
	OP_TAIL_CALLS_MAX = 31, /* the kernel allows 33 in all */
};

/* ---- one loop ---- */

enum {
	OP_STEPS_A_TURN = 8, /* an iteration costs as much as a call */
};

/*
 * Global functions, so that the verifier checks each once. It checks the loop's own
 * function until an iteration adds nothing new, on some kernels twice. A function for each
 * runtime, because since 6.18 the verifier goes through a whole function at each of its
 * ends to find which of the stack is in use.
 */
#define OP_WALK_STEP(name, steps)                                                        \
	__attribute__((noinline)) int op_walk_##name(struct op_slot *slot);              \
	__attribute__((noinline)) int op_walk_##name(struct op_slot *slot)               \
	{                                                                                \
		return slot ? (steps) : OP_NEXT_END;                                     \
	}

#define OP_RUNTIME(number, NAME, name, page, tells)                                      \
	OP_WALK_STEP(name, op_step_of(&slot->unwind, number, op_settings.runtimes_on))
#include "op_runtimes.def"

OP_WALK_STEP(native, slot->unwind.step == OP_STEP_GUESS ? op_step_guess(&slot->unwind)
							: op_step_native(&slot->unwind))

static __always_inline int op_walk_step(struct op_slot *slot)
{
	switch (slot->unwind.step) {
#define OP_RUNTIME(number, NAME, name, page, tells)                                      \
	case number:                                                                     \
		return op_walk_##name(slot);
#include "op_runtimes.def"
	}
	return op_walk_native(slot);
}

/* Free space in a stack that is too deep (fold.h). Returns whether it did, and then the
 * same step runs again. A function of its own for the same reason. */
__attribute__((noinline)) int op_walk_fold(struct op_slot *slot);
__attribute__((noinline)) int op_walk_fold(struct op_slot *slot)
{
	return slot && op_fold(&slot->unwind);
}

struct op_walk_context {
	struct op_slot *slot;
};

static long op_walk_turn(__u32 i, struct op_walk_context *context)
{
	int next = OP_NEXT_CONTINUE;
	int k;

	for (k = 0; k < OP_STEPS_A_TURN && next == OP_NEXT_CONTINUE; k++)
		next = op_walk_step(context->slot);
	return next != OP_NEXT_CONTINUE && !op_walk_fold(context->slot);
}

SEC("perf_event")
int op_walk(void *ctx)
{
	struct op_walk_context context = { .slot = op_slot_find() };

	if (!context.slot)
		return 0;
	bpf_loop(OP_DEEP_STEPS_MAX / OP_STEPS_A_TURN, op_walk_turn, &context, 0);
	return op_finish_walk(context.slot, true);
}

/* ---- a program a runtime ---- */

/* Another runtime's step is wanted. Returns only if there is no such program, or no
 * tail call is left: its frames stay native. */
static __always_inline void op_walk_other(void *ctx, struct op_slot *slot)
{
	__u32 step = slot->unwind.step & (OP_RUNTIME_MAX - 1);

	if (slot->tail_calls < OP_TAIL_CALLS_MAX) {
		slot->tail_calls++;
		bpf_tail_call(ctx, &op_walkers, step);
	}
	slot->absent |= 1u << step;
}

SEC("perf_event")
int op_walk_each(void *ctx)
{
	struct op_slot *slot = op_slot_find();
	__u32 number;
	int i;

	if (!slot)
		return 0;
	number = slot->number;
	for (i = 0; i < OP_WALK_CALLS; i++) {
		int next = op_walk_some(number);

		if (next == OP_NEXT_END)
			break;
		if (next == OP_NEXT_OTHER)
			op_walk_other(ctx, slot);
	}
	return op_finish_walk(slot, true);
}
