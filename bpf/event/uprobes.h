/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What uprobes of any program do to the current task, undone for the walk. The kernel runs
 * a probed instruction in a copy elsewhere, lets a function with a return probe return to a
 * trampoline, and calls a trampoline where the instruction is a long nop (x86-64, 6.18).
 */
#ifndef OP_UPROBES_H
#define OP_UPROBES_H

#include "bpf/event/slot.h"
#include "bpf/walk/guess.h"
#include "bpf/walk/registers.h"

enum {
	OP_COPY_BYTES = 16,	  /* MAX_UINSN_BYTES: of the copy, and the pc after it */
	OP_TRAMPOLINE_BYTES = 64, /* at most, of the trampoline of returns */
	OP_TRAMPOLINE_STACK = 24, /* what it pushes at most */
	OP_TRAMPOLINE_ALIGN = 4096, /* each trampoline begins a page */
};

/* Has the function at the breakpoint before pc run no instruction yet? Then sp points to the
 * return address. If the kernel has run a push in its place, sp does not. */
static __always_inline bool op_is_at_entry(struct op_unwind *u,
					   const struct op_registers *r)
{
	__u64 ra = 0;

	return op_is_after_breakpoint(r) &&
	       !bpf_probe_read_user(&ra, sizeof(ra), (void *)r->sp) &&
	       op_is_behind_call(u, ra);
}

/* Set pc, and in a trampoline sp, to what they would be without the probe. @task:
 * the current one. @call: the innermost one that will return to @trampoline, or NULL. */
static __always_inline void op_undo_uprobe(struct op_unwind *u, struct op_registers *r,
					   struct task_struct *task,
					   const struct return_instance *call,
					   __u64 trampoline)
{
	__u64 copy = OP_CURRENT_OF(task, utask, xol_vaddr);
	__u64 sp;

	if (copy && r->pc - copy < OP_COPY_BYTES) {
		r->pc += OP_CURRENT_OF(task, utask, vaddr) - copy;
		return;
	}
	if (call && r->pc - trampoline < OP_TRAMPOLINE_BYTES) {
		sp = BPF_CORE_READ(call, stack) + OP_RETURN_BYTES;
		if (sp - r->sp <= OP_TRAMPOLINE_STACK) {
			r->pc = BPF_CORE_READ(call, orig_ret_vaddr);
			r->sp = sp;
			return;
		}
	}
	if (r->pc % OP_TRAMPOLINE_ALIGN < OP_TRAMPOLINE_BYTES)
		op_leave_trampoline(r);
	r->pc -= op_is_at_entry(u, r);
}

/* Do so, and note the calls that will return to the trampoline, so that the walk can pass
 * it. Calls that longjmp(3) left are below sp, and a call with two probes is there twice.
 * The next call overwrites these. There is no branch in the loop, because it would
 * multiply it for the verifier. */
__attribute__((noinline)) int op_note_uprobes(__u32 number);
__attribute__((noinline)) int op_note_uprobes(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	struct task_struct *task = op_current_task();
	struct return_instance *r = OP_CURRENT_OF(task, utask, return_instances);
	struct op_walk_returns *to;
	__u64 before = 0;
	__u64 leaf;
	__u64 len = 0;
	__u64 sp;
	int i;

	if (!slot)
		return 0;
	to = &slot->unwind.returns;
	to->trampoline = 0;
	if (r)
		to->trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
	op_undo_uprobe(&slot->unwind, &slot->registers, task, r, to->trampoline);
	leaf = slot->registers.sp;
	for (i = 0; i < OP_RETURNS_MAX && r; i++) {
		sp = BPF_CORE_READ(r, stack) + OP_RETURN_BYTES;
		op_platform_bound(len);
		if (len >= OP_RETURNS_MAX)
			break;
		to->sp[len] = sp;
		to->pc[len] = BPF_CORE_READ(r, orig_ret_vaddr);
		/* sp > leaf && sp != before, of addresses */
		len += (leaf - sp) >> 63 & ((before - sp) | (sp - before)) >> 63;
		before = sp;
		r = BPF_CORE_READ(r, next);
	}
	slot->unwind.passed.len = (__u32)len;
	slot->unwind.passed.next = 0;
	return 0;
}

#endif
