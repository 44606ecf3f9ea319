/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stubs: hand-written code, which pushes as it goes. Rules describe where the caller's
 * frame is (lib/runtime/hotspot/machine/stack.h). Without a rule, and if the CodeBlob
 * has no frame size, the step searches for the return address.
 */
#ifndef OP_HOTSPOT_STUB_H
#define OP_HOTSPOT_STUB_H

#include "bpf/runtime/hotspot_view.h"

enum {
	OP_HS_LOWERED_WORDS = 24, /* words that may be below a frame */
};

#define OP_HS_UPCALL_NAME  0x735f6c6c61637075 /* "upcall_s" */
#define OP_HS_ADAPTER_NAME 0x204932432f433249 /* "I2C/C2I " */
/* "StubRoutines (continuati": of 21 and later, with or without a blank behind it */
#define OP_HS_STUBS_NAME    0x74756f5262757453
#define OP_HS_STUBS_NAME_8  0x6f63282073656e69
#define OP_HS_STUBS_NAME_16 0x697461756e69746e

/* The return address at @at of the stack. */
static __always_inline int op_hotspot_read_return(struct op_unwind *u, __u64 at,
						  __u64 *ret)
{
	__u64 ra = 0;

	if (op_read_stack(u, at, &ra))
		return -1;
	*ret = op_arch_code_address(u, ra);
	return 0;
}

/* Go to the caller by the frame record at fp, {caller's fp, return address}. */
static __always_inline enum op_next op_hotspot_record(struct op_unwind *u,
						      const struct op_runtime_view *v)
{
	__u64 fp = u->fp;
	__u64 next = 0;
	__u64 ra = 0;

	if (fp < u->sp || (fp & 7))
		return op_end(u, OP_ERROR_hotspot_frame_pointer);
	if (op_read_stack(u, fp, &next) || op_hotspot_read_return(u, fp + 8, &ra))
		return op_end(u, OP_ERROR_hotspot_read_frame);
	if (!op_hotspot_in_heap(v, ra) && !op_hotspot_in_vm(v, ra))
		return op_end(u, OP_ERROR_hotspot_return_address);
	return op_hotspot_go(u, v, ra, fp + 16, next);
}

static __always_inline __u64 op_hotspot_in_interpreter(const struct op_runtime_view *v,
						       __u64 pc)
{
	return op_hotspot_within(pc, OP_HS_WORD(v, interpreter),
				 OP_HS_WORD(v, interpreter_end));
}

/* Does the word @ra look like the return address of a call? The called code may have
 * jumped on. The interpreter pushes the return address of a method, and jumps. */
static __always_inline bool
op_hotspot_is_return(struct op_unwind *u, const struct op_runtime_view *v, __u64 ra)
{
	/* a frame that will be deoptimised returns to a handler, but not from a leaf */
	if (!u->exact && op_hotspot_in_heap(v, ra))
		return true;
	return op_hotspot_in_interpreter(v, ra) || op_call_before(u, ra) != OP_CALL_NONE;
}

enum op_hs_stub {
	OP_HS_STUB_OTHER = 0,
	/* any native code calls Java through it (JDK 22 and later) */
	OP_HS_STUB_UPCALL,
	OP_HS_STUB_CONTINUATION, /* it mounts a virtual thread */
	OP_HS_STUB_ADAPTER,	 /* between interpreted and compiled code */
};

/*
 * The frame of @bytes bytes is whole, and more words are below it: an intrinsic that
 * compares strings pushes one word, one that searches a string pushes a few, and a slow
 * path of the barriers of ZGC or G1 saves registers. Search for the return address.
 */
static __always_inline enum op_next
op_hotspot_lowered(struct op_unwind *u, const struct op_runtime_view *v, __u64 bytes)
{
	const __u64 *word = (const __u64 *)u->runtime_bytes;
	__u64 at = u->sp + bytes - 16;
	__u64 found = 0;
	__u32 i;

	if (op_platform_read(u, u->runtime_bytes, OP_HS_LOWERED_WORDS * 8, at))
		return op_end(u, OP_ERROR_hotspot_read_frame);
	for (i = 1; i < OP_HS_LOWERED_WORDS; i++)
		found |= op_hotspot_in_heap(v, op_arch_code_address(u, word[i])) << i;
	if (!found)
		return op_end(u, OP_ERROR_hotspot_return_address);
	i = (__u32)op_hotspot_lowest(found);
	op_platform_bound(i);
	i &= OP_RUNTIME_BYTES / 8 - 1;
	return op_hotspot_go(u, v, op_arch_code_address(u, word[i]), at + (i + 1) * 8,
			     word[(i - 1) & (OP_RUNTIME_BYTES / 8 - 1)]);
}

#if defined(__TARGET_ARCH_x86)
#include "bpf/runtime/hotspot_x86_64.h"
#else
#include "bpf/runtime/hotspot_aarch64.h"
#endif

/* The pc is in a stub that has @rule. */
static __always_inline enum op_next
op_hotspot_ruled(struct op_unwind *u, const struct op_runtime_view *v, __u32 rule)
{
	__u32 frame = rule & 0xff;
	__u64 saved = rule >> 8 & 0xff;
	__u64 cfa = u->sp;
	__u64 fp = u->fp;
	__u64 ra = 0;

	if (frame == OP_HOTSPOT_FROM_FP)
		cfa = fp;
	else if (frame >= OP_HOTSPOT_FROM_SLOT &&
		 op_read_stack(u, cfa + (__u64)(frame - OP_HOTSPOT_FROM_SLOT) * 8, &cfa))
		return op_end(u, OP_ERROR_hotspot_read_frame);
	cfa += (__u64)(rule >> 16) * 8;
	if (!op_hotspot_is_above(u->sp + OP_HS_RETURN_BYTES, cfa))
		return op_end(u, OP_ERROR_hotspot_frame_pointer);
	if (op_hotspot_ruled_return(u, cfa, saved, &ra) ||
	    (saved && op_read_stack(u, cfa - saved * 8, &fp)))
		return op_end(u, OP_ERROR_hotspot_read_frame);
	if (saved == OP_HOTSPOT_FP_LOST)
		fp = 0;
	if (!op_hotspot_is_return(u, v, ra))
		return op_end(u, OP_ERROR_hotspot_return_address);
	return op_hotspot_go(u, v, ra, cfa, fp);
}

/* The type of the blob whose header was read last, from the beginning of its name. */
static __always_inline enum op_hs_stub
op_hotspot_stub_kind(struct op_unwind *u, const struct op_runtime_view *v)
{
	__u8 off = OP_HS_BYTE(v, blob_name);
	__u64 at = op_hotspot_member(u, off) | op_hotspot_member(u, off + 4) << 32;
	__u64 name[3] = { 0 };

	if (op_platform_read(u, name, sizeof(name[0]), at))
		return OP_HS_STUB_OTHER;
	if (name[0] == OP_HS_UPCALL_NAME)
		return OP_HS_STUB_UPCALL;
	if (OP_HS_NAMED_ADAPTERS && name[0] == OP_HS_ADAPTER_NAME)
		return OP_HS_STUB_ADAPTER;
	if (name[0] == OP_HS_STUBS_NAME &&
	    !op_platform_read(u, &name[1], sizeof(name) - sizeof(name[0]), at + 8) &&
	    name[1] == OP_HS_STUBS_NAME_8 && name[2] == OP_HS_STUBS_NAME_16)
		return OP_HS_STUB_CONTINUATION;
	return OP_HS_STUB_OTHER;
}

/*
 * The stub of an upcall, whose code begins at @code. It returns to any library, so its
 * return address is checked like a guessed one: it must follow a call, and the native
 * step accepts it only in a known mapping. The target of that call does not matter,
 * because it may have jumped here.
 */
static __always_inline enum op_next
op_hotspot_upcall(struct op_unwind *u, const struct op_runtime_view *v, __u64 code)
{
	enum op_hs_shape shape = OP_HS_WHOLE;
	__u64 cfa = u->fp + 16;
	__u64 fp = 0;
	__u64 ra = 0;

	if (u->exact)
		shape = op_hotspot_upcall_shape(u, code);
	if (shape == OP_HS_NONE)
		cfa = u->sp + OP_HS_RETURN_BYTES;
	else if (shape == OP_HS_FP_SAVED)
		cfa = u->sp + 16;
	else if (!op_hotspot_is_above(u->sp, u->fp))
		return op_end(u, OP_ERROR_hotspot_frame_pointer);
	if (op_hotspot_read_frame(u, shape, cfa, &ra, &fp))
		return op_end(u, OP_ERROR_hotspot_read_frame);
	if (shape == OP_HS_FP_SAVED)
		fp = u->fp;
	if (!op_hotspot_in_heap(v, ra) && !op_call_before(u, ra))
		return op_end(u, OP_ERROR_hotspot_return_address);
	return op_hotspot_go(u, v, ra, cfa, fp);
}

/*
 * A stub whose CodeBlob, the header read last, has no frame size. Its code begins at
 * @code. The frames of a virtual thread come back from the heap a few at a time. The
 * last one returns into a continuation's stub, which will fetch its caller's. Until
 * then those are not on the stack, and the carrier's frames follow.
 */
static __always_inline enum op_next
op_hotspot_unsized(struct op_unwind *u, const struct op_runtime_view *v, __u64 code)
{
	enum op_hs_stub kind = op_hotspot_stub_kind(u, v);

	if (kind == OP_HS_STUB_UPCALL)
		return op_hotspot_upcall(u, v, code);
	if (kind == OP_HS_STUB_CONTINUATION)
		op_state(u)->error = OP_ERROR_hotspot_unmounted;
	return op_hotspot_stub(u, v, kind);
}

#endif
