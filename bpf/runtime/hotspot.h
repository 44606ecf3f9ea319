/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The HotSpot step. Java frames are frames of the thread's own stack, so the step goes from
 * caller to caller by pc, sp and fp as the native step does, and hands over when the pc
 * leaves the code cache.
 *
 * In the template interpreter fp is the frame of the method that runs, but for the moments
 * in which a frame is made or taken down: op_hotspot.rule tells which those are. All other
 * code has a frame of a size that its blob knows (compiled methods, runtime stubs), or is a
 * stub. Only the VM's call_stub calls Java code, and only from there Java code returns to
 * the VM: a return address that leads into libjvm.so is call_stub's.
 */
#ifndef OP_HOTSPOT_STEP_H
#define OP_HOTSPOT_STEP_H

#include "bpf/walk/native.h"
#include "bpf/walk/unwind.h"
#include "op_hotspot.h"

/* op_state(u)->word */
enum {
	OP_HS_INSIDE =
		0, /* the frame above is a method's: pc is a plain return address */
};

enum {
#if defined(__TARGET_ARCH_x86)
	OP_HS_METHOD_REG = OP_X86_RBX,
	OP_HS_BCP_REG = OP_X86_R13,
#else
	OP_HS_METHOD_REG = 12,
	OP_HS_BCP_REG = 22,
#endif
	OP_HS_METHOD_SLOT = -24,
	OP_HS_SENDER_SLOT = -8,
	OP_HS_SENDER_MAX = 1 << 20, /* bytes from fp to the caller's sp */
	OP_HS_METHOD_BYTES = 65536, /* a method has at most as many bytecodes */
	OP_HS_HOPS = 16,	    /* in a segment map */
	OP_HS_STUB_WORDS = 8,	    /* that a stub without a frame may have pushed */
	OP_HS_BLOB_BYTES = 112,	    /* of a blob's head that are read */
	OP_HS_FREE = 0xff,	    /* segment map: no block */
};

/* The process's struct op_hotspot. */
struct op_hotspot_view {
	const __u8 *slab;
	__u32 at;
};

#define OP_HS_WORD(v, member)                                                            \
	op_slab_u64((v)->slab, (v)->at, __builtin_offsetof(struct op_hotspot, member) / 8)
#define OP_HS_BYTE(v, member)                                                            \
	((__u8)(op_slab_u64((v)->slab, (v)->at,                                          \
			    __builtin_offsetof(struct op_hotspot, member) / 8) >>        \
		(__builtin_offsetof(struct op_hotspot, member) % 8 * 8)))

static __always_inline bool op_hotspot_in_heap(const struct op_hotspot_view *v, __u64 pc)
{
	return (pc >= OP_HS_WORD(v, heap[0].low) && pc < OP_HS_WORD(v, heap[0].high)) ||
	       (pc >= OP_HS_WORD(v, heap[1].low) && pc < OP_HS_WORD(v, heap[1].high)) ||
	       (pc >= OP_HS_WORD(v, heap[2].low) && pc < OP_HS_WORD(v, heap[2].high));
}

static __always_inline bool op_hotspot_in_vm(const struct op_hotspot_view *v, __u64 pc)
{
	return pc >= OP_HS_WORD(v, vm) && pc < OP_HS_WORD(v, vm_end);
}

static __always_inline void op_hotspot_push(struct op_unwind *u,
					    enum op_hotspot_kind kind, __u64 address,
					    __u64 where)
{
	op_push_word(u, op_runtime_word(u, OP_HOTSPOT_FRAME_WORDS, address));
	op_push_word(u, (__u64)kind << OP_HOTSPOT_KIND_SHIFT |
				(where & OP_FRAME_ADDRESS_MASK));
	u->frames++;
}

/* Go on at the caller: here while it is in the code cache, else native. */
static __always_inline enum op_next op_hotspot_go(struct op_unwind *u,
						  const struct op_hotspot_view *v,
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
	return op_leave_runtime(u, 0);
}

/* The interpreter's rule for address @pc in it: enum op_hotspot_frame | where << 8. */
static __always_inline __u32 op_hotspot_rule(const struct op_hotspot_view *v, __u64 pc)
{
	__u32 rules = v->at + __builtin_offsetof(struct op_hotspot, rule);
	__u64 at_pc = pc - OP_HS_WORD(v, interpreter);
	__u64 left = (__u32)OP_HS_WORD(v, rule_count);
	__u64 found = 0;
	__u64 rule;
	int i;

	for (i = 0; i < OP_HOTSPOT_RULES_STEPS && left > 1; i++)
		OP_SEARCH_STEP(found, left, (__u32)op_slab_u64(v->slab, rules, (__u32)at),
			       at_pc + 1);
	rule = op_slab_u64(v->slab, rules, (__u32)found);
	if ((__u32)rule > at_pc)
		return OP_HOTSPOT_SLOT;
	return (__u32)(rule >> 32) & 0xffff;
}

/* The frame at fp is that of a method, or, where it returns to the VM, of call_stub. */
static __always_inline enum op_next
op_hotspot_made(struct op_unwind *u, const struct op_hotspot_view *v, __u32 frame)
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
	if (op_read_stack(u, fp + 8, &ra) || op_read_stack(u, fp, &next))
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
	if (frame == OP_HOTSPOT_HALF && u->exact)
		method = u->reg[OP_HS_METHOD_REG];
	if (frame == OP_HOTSPOT_HALF || frame == OP_HOTSPOT_BEGUN) {
		kind = OP_HOTSPOT_ENTERED;
		bcp = 0;
	}
	/* The register counts while it is the same method's: a call or a return uses it
	 * for something else, and has saved it before. */
	if (frame == OP_HOTSPOT_BCP && u->exact &&
	    u->reg[OP_HS_BCP_REG] - bcp + OP_HS_METHOD_BYTES < 2 * OP_HS_METHOD_BYTES)
		bcp = u->reg[OP_HS_BCP_REG];
	op_hotspot_push(u, kind, method, bcp);
	op_state(u)->word[OP_HS_INSIDE] = 1;
	/* where the caller is compiled, its frame ends where it called */
	if (sender - fp - 16 > OP_HS_SENDER_MAX ||
	    (ra >= OP_HS_WORD(v, interpreter) && ra < OP_HS_WORD(v, interpreter_end)))
		sender = fp + 16;
	return op_hotspot_go(u, v, ra, sender, next);
}

/* There is no frame, or no more, of what runs: fp is the caller's. */
static __always_inline enum op_next
op_hotspot_frameless(struct op_unwind *u, const struct op_hotspot_view *v, __u32 where)
{
	__u64 sp = u->sp;
	__u64 ra = 0;

	if (u->exact && where == OP_HOTSPOT_RETURN_SP) {
		(void)op_read_stack(u, sp, &ra);
		sp += 8;
	} else if (u->exact && where == OP_HOTSPOT_RETURN_BELOW) {
		(void)op_read_stack(u, sp + 8, &ra);
		sp += 16;
	} else if (u->exact && where >= OP_HOTSPOT_RETURN_REG) {
		ra = u->reg[where & (OP_LEAF_REGS - 1) & ~OP_HOTSPOT_RETURN_REG];
	}
	if (!op_hotspot_in_heap(v, ra)) /* an interpreted caller has its frame at fp */
		return op_hotspot_made(u, v, OP_HOTSPOT_SLOT);
	op_state(u)->word[OP_HS_INSIDE] = 1;
	return op_hotspot_go(u, v, ra, sp, u->fp);
}

static __always_inline enum op_next
op_hotspot_interpreted(struct op_unwind *u, const struct op_hotspot_view *v, __u64 look)
{
	__u32 rule = OP_HOTSPOT_SLOT;
	__u32 frame;

	if (u->exact || !op_state(u)->word[OP_HS_INSIDE])
		rule = op_hotspot_rule(v, look);
	frame = rule & 0xff;
	if (frame == OP_HOTSPOT_ENTRY) {
		if (u->exact)
			op_hotspot_push(u, OP_HOTSPOT_ENTERED, u->reg[OP_HS_METHOD_REG],
					0);
		else
			op_hotspot_push(u, OP_HOTSPOT_CODELET, look, 0);
	}
	if (frame == OP_HOTSPOT_ENTRY || frame == OP_HOTSPOT_GONE)
		return op_hotspot_frameless(u, v, rule >> 8);
	return op_hotspot_made(u, v, frame);
}

/* A frame record at fp, {caller's fp, return address}. */
static __always_inline enum op_next op_hotspot_record(struct op_unwind *u,
						      const struct op_hotspot_view *v)
{
	__u64 fp = u->fp;
	__u64 next = 0;
	__u64 ra = 0;

	if (fp < u->sp || (fp & 7))
		return op_end(u, OP_ERROR_hotspot_frame_pointer);
	if (op_read_stack(u, fp, &next) || op_read_stack(u, fp + 8, &ra))
		return op_end(u, OP_ERROR_hotspot_read_frame);
	if (!op_hotspot_in_heap(v, ra) && !op_hotspot_in_vm(v, ra))
		return op_end(u, OP_ERROR_hotspot_return_address);
	return op_hotspot_go(u, v, ra, fp + 16, next);
}

/* A stub was interrupted: its return address is above what it has pushed. */
static __always_inline enum op_next op_hotspot_stub(struct op_unwind *u,
						    const struct op_hotspot_view *v)
{
	__u64 sp = u->sp;
	__u64 below = 0;
	__u64 word = 0;
	int i;

	if (!u->exact)
		return op_hotspot_record(u, v);
	for (i = 0; i < OP_HS_STUB_WORDS; i++, sp += 8) {
		if (op_read_stack(u, sp, &word))
			return op_end(u, OP_ERROR_hotspot_read_frame);
		if (op_hotspot_in_heap(v, word) || op_hotspot_in_vm(v, word))
			return op_hotspot_go(u, v, word, sp + 8,
					     sp - 8 == u->fp ? below : u->fp);
		below = word;
	}
	return op_hotspot_record(u, v);
}

/* The CodeBlob that holds @pc in the heap at @low, or 0. */
static __always_inline __u64 op_hotspot_blob(struct op_unwind *u,
					     const struct op_hotspot_view *v, __u64 pc,
					     __u64 low, __u64 segmap)
{
	__u8 shift = OP_HS_BYTE(v, log2_segment) & 31;
	__u64 segment = (pc - low) >> shift;
	__u8 back = 0;
	int i;

	for (i = 0; i < OP_HS_HOPS; i++) {
		if (op_platform_read(u, &back, 1, segmap + segment))
			return 0;
		if (!back)
			return low + (segment << shift) + OP_HS_BYTE(v, block_bytes);
		if (back == OP_HS_FREE || back > segment)
			return 0;
		segment -= back;
	}
	return 0;
}

static __always_inline __u64 op_hotspot_find_blob(struct op_unwind *u,
						  const struct op_hotspot_view *v,
						  __u64 pc)
{
	__u64 low = OP_HS_WORD(v, heap[0].low);
	__u64 segmap = OP_HS_WORD(v, heap[0].segmap);

	if (pc >= OP_HS_WORD(v, heap[1].low) && pc < OP_HS_WORD(v, heap[1].high)) {
		low = OP_HS_WORD(v, heap[1].low);
		segmap = OP_HS_WORD(v, heap[1].segmap);
	} else if (pc >= OP_HS_WORD(v, heap[2].low) && pc < OP_HS_WORD(v, heap[2].high)) {
		low = OP_HS_WORD(v, heap[2].low);
		segmap = OP_HS_WORD(v, heap[2].segmap);
	}
	return op_hotspot_blob(u, v, pc, low, segmap);
}

static __always_inline __u64 op_hotspot_member(struct op_unwind *u, __u8 off)
{
	__u32 at = off & 124;

	op_platform_bound(at);
	return *(__u32 *)(u->runtime_bytes + (at & 124));
}

/*
 * Code with a frame of @bytes. Where it was interrupted in the code's first or last
 * instructions the frame is not all there: then the return address stands at sp, or above
 * the caller's fp at sp.
 */
static __always_inline enum op_next op_hotspot_sized(struct op_unwind *u,
						     const struct op_hotspot_view *v,
						     __u64 bytes, bool complete)
{
	__u64 cfa = u->sp + bytes;
	__u64 top[2] = { 0 };
	__u64 fp = 0;
	__u64 ra = 0;

	if (op_read_stack(u, cfa - 8, &ra) || op_read_stack(u, cfa - 16, &fp))
		return op_end(u, OP_ERROR_hotspot_read_frame);
	if (complete && op_hotspot_in_heap(v, ra))
		return op_hotspot_go(u, v, ra, cfa, fp);
	if (!u->exact)
		return op_end(u, OP_ERROR_hotspot_return_address);
	if (op_read_stack(u, u->sp, &top[0]) || op_read_stack(u, u->sp + 8, &top[1]))
		return op_end(u, OP_ERROR_hotspot_read_frame);
	if (op_hotspot_in_heap(v, top[0]))
		return op_hotspot_go(u, v, top[0], u->sp + 8, u->fp);
	if (op_hotspot_in_heap(v, top[1]))
		return op_hotspot_go(u, v, top[1], u->sp + 16, top[0]);
	return op_end(u, OP_ERROR_hotspot_return_address);
}

/* Code that is not the interpreter's. */
static __always_inline enum op_next
op_hotspot_other(struct op_unwind *u, const struct op_hotspot_view *v, __u64 look)
{
	__u64 blob = op_hotspot_find_blob(u, v, look);
	__u64 code = 0;
	__u64 words;
	__u64 begun;

	if (!blob)
		return op_end(u, OP_ERROR_hotspot_no_blob);
	if (op_platform_read(u, u->runtime_bytes, OP_HS_BLOB_BYTES, blob))
		return op_end(u, OP_ERROR_hotspot_no_blob);
	words = op_hotspot_member(u, OP_HS_BYTE(v, blob_frame_size));
	begun = op_hotspot_member(u, OP_HS_BYTE(v, blob_frame_complete));
	if (OP_HS_BYTE(v, blob_frame_complete) & 2) /* 16 bits: JDK 23 and later */
		begun >>= 16;
	begun &= 0xffff;
	code = op_hotspot_member(u, OP_HS_BYTE(v, blob_code));
	if (OP_HS_BYTE(v, blob_code_is_pointer))
		code |= op_hotspot_member(u, OP_HS_BYTE(v, blob_code) + 4) << 32;
	else
		code += blob;
	op_hotspot_push(u, OP_HOTSPOT_STUB, look, look - blob);
	op_state(u)->word[OP_HS_INSIDE] = 0;
	if (!words)
		return op_hotspot_stub(u, v);
	if (words < 2 || words > OP_HS_SENDER_MAX / 8)
		return op_end(u, OP_ERROR_hotspot_no_blob);
	return op_hotspot_sized(u, v, words * 8, !u->exact || look >= code + begun);
}

/* Push one frame of the code cache and go to its caller. */
static __always_inline enum op_next op_step_hotspot(struct op_unwind *u)
{
	op_ref ref = op_state(u)->ref;
	struct op_hotspot_view v = { .slab = op_platform_slab(u,
							      ref >> OP_REF_SLAB_SHIFT) };
	__u64 look = u->exact ? u->pc : u->pc - 1;

	if (!ref || !v.slab)
		return op_end(u, OP_ERROR_hotspot_no_process);
	v.at = (ref << OP_REF_SHIFT) & (OP_SLAB_BYTES - 8);
	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	if (look >= OP_HS_WORD(&v, interpreter) && look < OP_HS_WORD(&v, interpreter_end))
		return op_hotspot_interpreted(u, &v, look);
	if (!u->exact && u->pc == OP_HS_WORD(&v, call_stub)) {
		op_hotspot_push(u, OP_HOTSPOT_STUB, u->pc, 0);
		return op_hotspot_record(u, &v);
	}
	return op_hotspot_other(u, &v, look);
}

#endif
