/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the parts of the HotSpot step: the view of the process's struct op_hotspot,
 * pushing frames, and continuing at the caller.
 */
#ifndef OP_HOTSPOT_VIEW_H
#define OP_HOTSPOT_VIEW_H

#include "bpf/walk/native.h"
#include "bpf/walk/unwind.h"
#include "op_hotspot.h"

/* Numbers of op_state(u)->word. */
enum {
	/* the frame above belongs to a method: pc is a plain return address */
	OP_HS_INSIDE = 0,
	OP_HS_AT_FP = 1, /* the next frame is the complete one at fp */
};

enum {
	OP_HS_METHOD_SLOT = -24,
	OP_HS_SENDER_SLOT = -8,
	OP_HS_SENDER_MAX = 1 << 20, /* bytes from fp to the caller's sp */
	OP_HS_METHOD_BYTES = 65536, /* a method has at most as many bytecodes */
	/* words that a stub without a frame may have pushed */
	OP_HS_STUB_WORDS = 8,
	OP_HS_BLOB_BYTES = 192, /* bytes read of a blob's header */
	OP_HS_FREE = 0xff,	/* segment map: the segment is free */
};

/* How much of a compiled frame, or of a stub's, exists. */
enum op_hs_shape {
	OP_HS_WHOLE = 0,
	OP_HS_NONE, /* no frame: the return address is as at the entry, fp is the caller's */
	OP_HS_FP_SAVED, /* {caller's fp, return address} is at sp */
	OP_HS_FP_KEPT,	/* whole, but fp is still the caller's */
	OP_HS_PUSHED,	/* whole, with OP_HS_PUSHED_BYTES below it */
	OP_HS_UNKNOWN,
};

#define OP_HS_WORD(v, member)                                                            \
	op_slab_u64((v)->slab, (v)->at, __builtin_offsetof(struct op_hotspot, member) / 8)
#define OP_HS_BYTE(v, member)                                                            \
	((__u8)(op_slab_u64((v)->slab, (v)->at,                                          \
			    __builtin_offsetof(struct op_hotspot, member) / 8) >>        \
		(__builtin_offsetof(struct op_hotspot, member) % 8 * 8)))
#define OP_HS_SHORT(v, member)                                                           \
	((__u16)(op_slab_u64((v)->slab, (v)->at,                                         \
			     __builtin_offsetof(struct op_hotspot, member) / 8) >>       \
		 (__builtin_offsetof(struct op_hotspot, member) % 8 * 8)))

/* 1 if @pc is in [low, high), else 0. It has no branch, because the verifier would follow
 * both sides. */
static __always_inline __u64 op_hotspot_within(__u64 pc, __u64 low, __u64 high)
{
	__u64 at = pc - low;

	return ((at - (high - low)) & ~at) >> 63;
}

static __always_inline __u64 op_hotspot_in_heap(const struct op_runtime_view *v, __u64 pc)
{
	return op_hotspot_within(pc, OP_HS_WORD(v, cache), OP_HS_WORD(v, cache_end));
}

static __always_inline __u64 op_hotspot_in_vm(const struct op_runtime_view *v, __u64 pc)
{
	return op_hotspot_within(pc, OP_HS_WORD(v, vm), OP_HS_WORD(v, vm_end));
}

/* The 32 bits at offset @off of the bytes last read into u->runtime_bytes. */
static __always_inline __u64 op_hotspot_member(struct op_unwind *u, __u8 off)
{
	__u32 at = off & 252;

	op_platform_bound(at);
	return *(__u32 *)(u->runtime_bytes + (at & 252));
}

/* The number of the lowest set bit. BPF has no instruction for it. */
static __always_inline __u64 op_hotspot_lowest(__u64 bits)
{
	__u64 below = (bits & -bits) - 1;

	below -= below >> 1 & 0x5555555555555555;
	below = (below & 0x3333333333333333) + (below >> 2 & 0x3333333333333333);
	below = (below + (below >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return below * 0x0101010101010101 >> 56;
}

/* May a caller's frame begin at @sp if its callee's frame ends at @end? */
static __always_inline bool op_hotspot_is_above(__u64 end, __u64 sp)
{
	return sp - end <= OP_HS_SENDER_MAX && !(sp & 7);
}

static __always_inline void op_hotspot_push(struct op_unwind *u,
					    enum op_hotspot_kind kind, __u64 address,
					    __u64 where)
{
	op_push_word(u, op_runtime_word(u, OP_HOTSPOT_FRAME_WORDS, address));
	op_push_word(u, (__u64)kind << OP_HOTSPOT_KIND_SHIFT |
				(where & OP_FRAME_ADDRESS_MASK));
	u->out.frames++;
}

/* The rule for the address @pc: enum op_hotspot_frame | where << 8 | words << 16, as in struct
 * op_hotspot_rule. */
static __always_inline __u32 op_hotspot_rule(struct op_unwind *u,
					     const struct op_runtime_view *v, __u64 pc)
{
	__u32 rules = v->at + __builtin_offsetof(struct op_hotspot, rule);
	__u64 at_pc = pc - OP_HS_WORD(v, cache);
	__u64 left = (__u32)OP_HS_WORD(v, rule_count);
	__u64 found = op_platform_zero(u);
	__u64 rule;
	int i;

	for (i = 0; i < OP_HOTSPOT_RULES_STEPS && left > 1; i++)
		OP_SEARCH_STEP(found, left, (__u32)op_slab_u64(v->slab, rules, (__u32)at),
			       at_pc + 1);
	rule = op_slab_u64(v->slab, rules, (__u32)found);
	return (__u32)rule > at_pc ? OP_HOTSPOT_NO_RULE : (__u32)(rule >> 32);
}

/* Continue at the caller: with this step while the pc is in the code cache, otherwise
 * natively. */
static __always_inline enum op_next op_hotspot_go(struct op_unwind *u,
						  const struct op_runtime_view *v,
						  __u64 pc, __u64 sp, __u64 fp)
{
	u->pc = pc;
	u->sp = sp;
	u->fp = fp;
	u->exact = 0;
	u->guessed = 0;
	if (op_hotspot_in_heap(v, pc))
		return OP_NEXT_CONTINUE;
	op_state(u)->word[OP_HS_INSIDE] = 0;
	u->kept_lost = 1; /* the register still holds a value of Java code */
	return op_leave_runtime(u, 0);
}

#endif
