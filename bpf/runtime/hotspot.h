/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The HotSpot step unwinds Java frames. They are on the thread's own stack, so the step
 * goes from caller to caller by pc, sp and fp as the native step does. The native step
 * continues when the pc leaves the code cache.
 *
 * In the template interpreter, fp points to the frame of the running method, except
 * while a frame is being made or removed. The table op_hotspot.rule has the pcs at
 * which that is so. hotspot_code.h handles all other code. The VM calls Java code only
 * through its call_stub, and Java code returns to the VM only there. So a return
 * address in libjvm.so belongs to the frame of call_stub. Other libraries call Java
 * code through the stub of an upcall.
 */
#ifndef OP_HOTSPOT_STEP_H
#define OP_HOTSPOT_STEP_H

#include "bpf/runtime/hotspot_code.h"

/* The frame at fp is complete: *@ret. It is a method's frame or, if it returns to the
 * VM, the frame of call_stub. */
static __always_inline enum op_next op_hotspot_made(struct op_unwind *u,
						    const struct op_runtime_view *v,
						    __u32 frame,
						    struct op_hotspot_frame_of *ret)
{
	__s64 slot = (__s16)OP_HS_WORD(v, bcp_slot);
	enum op_hotspot_kind kind = OP_HOTSPOT_METHOD;
	__u64 fp = u->fp;
	__u64 method = 0;
	__u64 sender = 0;
	__u64 next = 0;
	__u64 bcp = 0;
	__u64 ra = 0;

	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	if (fp < u->sp || (fp & 7))
		return op_end(u, OP_ERROR_hotspot_frame_pointer);
	if (op_hotspot_read_return(u, fp + 8, &ra) || op_read_stack(u, fp, &next))
		return op_end(u, OP_ERROR_hotspot_read_frame);
	if (!op_hotspot_in_heap(v, ra)) {
		if (!op_hotspot_in_vm(v, ra))
			return op_end(u, OP_ERROR_hotspot_return_address);
		op_hotspot_push(u, OP_HOTSPOT_STUB, OP_HS_WORD(v, call_stub), 0);
		return op_hotspot_go(u, v, ra, fp + 16, next);
	}
	if (op_read_stack(u, fp + OP_HS_METHOD_SLOT, &method) ||
	    op_read_stack(u, fp + OP_HS_SENDER_SLOT, &sender) ||
	    op_read_stack(u, fp + slot, &bcp))
		return op_end(u, OP_ERROR_hotspot_read_frame);
	if (frame == OP_HOTSPOT_HALF && u->exact) {
		method = u->reg[OP_HS_METHOD_REG];
		sender = op_hotspot_half_sender(u, v, sender);
	}
	if (frame == OP_HOTSPOT_HALF || frame == OP_HOTSPOT_BEGUN) {
		kind = OP_HOTSPOT_ENTERED;
		bcp = 0;
	}
	/*
	 * The register is newer than the slot, but it holds a bytecode address only
	 * while it points into the same method. Calls and returns save it to the slot
	 * and then reuse it.
	 */
	if (frame == OP_HOTSPOT_BCP && u->exact &&
	    u->reg[OP_HS_BCP_REG] - bcp + OP_HS_METHOD_BYTES < 2 * OP_HS_METHOD_BYTES)
		bcp = u->reg[OP_HS_BCP_REG];
	*ret = (struct op_hotspot_frame_of){ kind, method, bcp };
	op_state(u)->word[OP_HS_INSIDE] = 1;
	/* A compiled caller's frame ends where it made the call, which is the saved
	 * sender sp. */
	if (sender - fp - 16 > OP_HS_SENDER_MAX ||
	    (ra >= OP_HS_WORD(v, interpreter) && ra < OP_HS_WORD(v, interpreter_end)))
		sender = fp + 16;
	return op_hotspot_go(u, v, ra, sender, next);
}

/* The running code has no frame, or no longer has one: fp belongs to the caller. */
static __always_inline enum op_next op_hotspot_frameless(struct op_unwind *u,
							 const struct op_runtime_view *v,
							 __u32 where, __u64 sender)
{
	__u64 sp = u->sp;
	__u64 ra = 0;

	if (u->exact)
		ra = op_hotspot_frameless_return(u, where, &sp);
	/* An interpreted caller has its own frame at fp. */
	if (!op_hotspot_in_heap(v, ra)) {
		op_state(u)->word[OP_HS_AT_FP] = 1;
		return OP_NEXT_CONTINUE;
	}
	/* The sender register holds a compiled caller's sp. An adapter has copied the
	 * arguments below it, so the current sp is too low. */
	if (u->exact && op_hotspot_is_above(sp, sender))
		sp = sender;
	op_state(u)->word[OP_HS_INSIDE] = 1;
	return op_hotspot_go(u, v, ra, sp, u->fp);
}

/* The pc is in the template interpreter. *@ret: the frame to push. */
static __always_inline enum op_next
op_hotspot_interpreted(struct op_unwind *u, const struct op_runtime_view *v, __u64 look,
		       struct op_hotspot_frame_of *ret)
{
	__u32 rule = OP_HOTSPOT_SLOT;
	__u32 frame;

	if (op_state(u)->word[OP_HS_AT_FP])
		op_state(u)->word[OP_HS_AT_FP] = 0;
	else if (u->exact || !op_state(u)->word[OP_HS_INSIDE])
		rule = op_hotspot_rule(u, v, look) & 0xffff;
	frame = rule & 0xff;
	if (frame == OP_HOTSPOT_ENTRY) {
		if (u->exact)
			*ret = (struct op_hotspot_frame_of){ OP_HOTSPOT_ENTERED,
							     u->reg[OP_HS_METHOD_REG],
							     0 };
		else
			op_hotspot_push(u, OP_HOTSPOT_CODELET, look, 0);
	}
	if (frame == OP_HOTSPOT_ENTRY || frame == OP_HOTSPOT_GONE)
		return op_hotspot_frameless(u, v, rule >> 8,
					    frame == OP_HOTSPOT_ENTRY
						    ? op_hotspot_entry_sender(u, v)
						    : u->reg[OP_HS_GONE_SENDER]);
	return op_hotspot_made(u, v, frame, ret);
}

/* Push one frame of code in the code cache and go to its caller. */
static __always_inline enum op_next op_step_hotspot(struct op_unwind *u)
{
	struct op_runtime_view v;
	__u64 look = u->exact ? u->pc : u->pc - 1;
	struct op_hotspot_frame_of of = { 0 };
	enum op_next next;

	if (!op_runtime_see(u, &v))
		return op_end(u, OP_ERROR_hotspot_no_process);
	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	if (look >= OP_HS_WORD(&v, interpreter) &&
	    look < OP_HS_WORD(&v, interpreter_end)) {
		next = op_hotspot_interpreted(u, &v, look, &of);
		if (of.method)
			op_hotspot_push_method(u, &v, &of);
		return next;
	}
	if (!u->exact && u->pc == OP_HS_WORD(&v, call_stub)) {
		op_hotspot_push(u, OP_HOTSPOT_STUB, u->pc, 0);
		return op_hotspot_record(u, &v);
	}
	return op_hotspot_other(u, &v, look);
}

#endif
