/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The step for code in the code cache other than the interpreter: compiled methods,
 * wrappers of native methods and the runtime's stubs. The CodeBlob that holds the code
 * records its frame size. If the thread was interrupted in a prologue or an epilogue, the
 * machine code around the pc shows how much of the frame exists: the compilers of all
 * JDK versions emit the same few instruction sequences.
 */
#ifndef OP_HOTSPOT_CODE_H
#define OP_HOTSPOT_CODE_H

#include "bpf/runtime/hotspot_method.h"
#include "bpf/runtime/hotspot_stub.h"

enum {
	OP_HS_NEVER = 0xffff,	  /* frame_complete of stubs that push as they go */
	OP_HS_NO_FRAME_SIZE = -1, /* of some of them */
	OP_HS_METHOD_CODE = (1 << OP_HOTSPOT_PC_BITS) - 1,
};

/* The address of the CodeBlob that holds @pc in the code heap at @low, or 0. */
static __always_inline __u64 op_hotspot_blob(struct op_unwind *u,
					     const struct op_runtime_view *v, __u64 pc,
					     __u64 low, __u64 segmap)
{
	__u8 shift = OP_HS_BYTE(v, log2_segment) & 31;
	__u64 segment = (pc - low) >> shift;
	__u8 back = 0;
	int i;

	for (i = 0; i < OP_HOTSPOT_HOPS; i++) {
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

/* Take heap number @i if @pc is there. By a mask: a branch is one more way for the verifier. */
#define OP_HS_TAKE_HEAP(v, i, pc, low, segmap)                                           \
	do {                                                                             \
		__u64 at = OP_HS_WORD(v, heap[i].low);                                   \
		__u64 mask = -op_hotspot_within(pc, at, OP_HS_WORD(v, heap[i].high));    \
                                                                                         \
		low ^= (low ^ at) & mask;                                                \
		segmap ^= (segmap ^ OP_HS_WORD(v, heap[i].segmap)) & mask;               \
	} while (0)

static __always_inline __u64 op_hotspot_find_blob(struct op_unwind *u,
						  const struct op_runtime_view *v,
						  __u64 pc)
{
	__u64 low = OP_HS_WORD(v, heap[0].low);
	__u64 segmap = OP_HS_WORD(v, heap[0].segmap);

	_Static_assert(OP_HOTSPOT_HEAPS == 5, "all are looked at");
	OP_HS_TAKE_HEAP(v, 1, pc, low, segmap);
	OP_HS_TAKE_HEAP(v, 2, pc, low, segmap);
	OP_HS_TAKE_HEAP(v, 3, pc, low, segmap);
	OP_HS_TAKE_HEAP(v, 4, pc, low, segmap);
	return op_hotspot_blob(u, v, pc, low, segmap);
}

/* An address in the blob's header: a pointer, or an offset from the blob. */
static __always_inline __u64 op_hotspot_address(struct op_unwind *u,
						const struct op_runtime_view *v,
						__u64 blob, __u8 off)
{
	__u64 low = op_hotspot_member(u, off);

	if (OP_HS_BYTE(v, blob_code_is_pointer))
		return low | op_hotspot_member(u, off + 4) << 32;
	return blob + low;
}

/* Go to the caller of code whose frame has @bytes bytes, of which @shape exists. */
static __always_inline enum op_next op_hotspot_sized(struct op_unwind *u,
						     const struct op_runtime_view *v,
						     __u64 bytes, enum op_hs_shape shape)
{
	__u64 cfa = u->sp + bytes;
	__u64 fp = 0;
	__u64 ra = 0;

	if (shape == OP_HS_PUSHED)
		cfa += OP_HS_PUSHED_BYTES;
	if (shape == OP_HS_NONE)
		cfa = u->sp + OP_HS_RETURN_BYTES;
	if (shape == OP_HS_FP_SAVED)
		cfa = u->sp + 16;
	if (op_hotspot_read_frame(u, shape, cfa, &ra, &fp))
		return op_end(u, OP_ERROR_hotspot_read_frame);
	if (shape == OP_HS_UNKNOWN || !op_hotspot_in_heap(v, ra))
		return op_hotspot_elsewhere(u, v, bytes);
	return op_hotspot_go(u, v, ra, cfa, fp);
}

/*
 * The pc at which a compiled method's frame continues. In a frame that will be
 * deoptimised, a handler of its method replaces the return address, and the frame keeps
 * the original address.
 */
static __always_inline __u64 op_hotspot_deopt(struct op_unwind *u,
					      const struct op_runtime_view *v, __u64 blob,
					      __u64 code)
{
	__u8 mh = OP_HS_BYTE(v, nmethod_deopt_mh);
	__u32 at = 0;
	__u64 pc = 0;

	if (u->pc != op_hotspot_address(u, v, blob, OP_HS_BYTE(v, nmethod_deopt)) &&
	    (!mh || u->pc != op_hotspot_address(u, v, blob, mh)))
		return u->pc;
	if (op_platform_read(u, &at, sizeof(at),
			     blob + OP_HS_SHORT(v, nmethod_orig_pc)) ||
	    at > OP_HS_SENDER_MAX || op_read_stack(u, u->sp + at, &pc) ||
	    pc - code > OP_HS_METHOD_CODE)
		return u->pc;
	return pc;
}

/* Push the frame of the compiled method (nmethod) at @blob, which runs at @look. */
static __always_inline void op_hotspot_compiled(struct op_unwind *u,
						const struct op_runtime_view *v,
						__u64 blob, __u64 code, __u64 look)
{
	__u64 at = look - code;
	__u32 id = 0;

	(void)op_platform_read(u, &id, sizeof(id),
			       blob + OP_HS_SHORT(v, nmethod_compile_id));
	op_hotspot_meet_code(u, v, blob, id);
	if (at > OP_HS_METHOD_CODE)
		at = OP_HS_METHOD_CODE;
	op_hotspot_push(u, u->exact ? OP_HOTSPOT_COMPILED : OP_HOTSPOT_CALLED, blob,
			(__u64)id << OP_HOTSPOT_PC_BITS | at);
}

/* The pc is in a CodeBlob other than the interpreter's. */
static __always_inline enum op_next
op_hotspot_other(struct op_unwind *u, const struct op_runtime_view *v, __u64 look)
{
	__u64 blob = op_hotspot_find_blob(u, v, look);
	enum op_hs_shape shape = OP_HS_WHOLE;
	__u64 code = 0;
	__u64 words;
	__u64 begun;
	bool native = !op_state(u)->word[OP_HS_INSIDE];
	bool method;

	if (!blob)
		return op_end(u, OP_ERROR_hotspot_no_blob);
	if (op_platform_read(u, u->runtime_bytes, OP_HS_BLOB_BYTES, blob))
		return op_end(u, OP_ERROR_hotspot_no_blob);
	words = op_hotspot_member(u, OP_HS_BYTE(v, blob_frame_size));
	begun = op_hotspot_member(u, OP_HS_BYTE(v, blob_frame_complete));
	if (OP_HS_BYTE(v, blob_frame_complete) & 2) /* a 16-bit member since JDK 23 */
		begun >>= 16;
	begun &= 0xffff;
	code = op_hotspot_address(u, v, blob, OP_HS_BYTE(v, blob_code));
	method = (op_hotspot_member(u, OP_HS_BYTE(v, blob_header_bytes)) & 0xffff) ==
		 OP_HS_SHORT(v, nmethod_bytes);
	if (method) {
		if (!u->exact)
			look = op_hotspot_deopt(u, v, blob, code) - 1;
		op_hotspot_compiled(u, v, blob, code, look);
	} else {
		op_hotspot_push(u, OP_HOTSPOT_STUB, look, look - blob);
	}
	op_state(u)->word[OP_HS_INSIDE] = method;
	if (!method) {
		__u32 rule = op_hotspot_rule(u, v, look);

		if ((rule & 0xff) > OP_HOTSPOT_NO_RULE)
			return op_hotspot_ruled(u, v, rule);
		if (words == (__u32)OP_HS_NO_FRAME_SIZE)
			words = 0;
	}
	/* so it belongs to linkToNative(), which jumps on */
	if (!words)
		return op_hotspot_unsized(u, v, code);
	if (words < 2 || words > OP_HS_SENDER_MAX / 8)
		return op_end(u, OP_ERROR_hotspot_no_blob);
	if (u->exact && begun == OP_HS_NEVER)
		shape = OP_HS_UNKNOWN;
	else if (u->exact && look < code + begun)
		shape = method ? op_hotspot_begins(u, look, code + begun) : OP_HS_UNKNOWN;
	else if (u->exact)
		shape = op_hotspot_ends(u, look);
	else if (method)
		shape = op_hotspot_called(u, native);
	return op_hotspot_sized(u, v, words * 8, shape);
}

#endif
