/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The step for code in the code cache other than the interpreter: compiled methods,
 * wrappers of native methods and the runtime's stubs. The CodeBlob that holds the code
 * records its frame size. A frame is, downwards from the caller's sp, {return address,
 * caller's fp, ...}. If the thread was interrupted in a prologue or an epilogue, the
 * machine code around the pc shows how much of the frame exists: the compilers of all
 * JDK versions emit the same few instruction sequences.
 */
#ifndef OP_HOTSPOT_CODE_H
#define OP_HOTSPOT_CODE_H

#include "bpf/runtime/hotspot_method.h"
#include "bpf/runtime/hotspot_stub.h"

/* How much of the frame exists. */
enum op_hs_shape {
	OP_HS_WHOLE = 0,
	OP_HS_NONE,	/* no frame: the return address is at sp, fp is the caller's */
	OP_HS_FP_SAVED, /* {caller's fp, return address} is at sp */
	OP_HS_FP_KEPT,	/* whole, but fp is still the caller's */
	OP_HS_PUSHED,	/* whole, with one more word below it */
	OP_HS_UNKNOWN,
};

enum {
	OP_HS_PROLOGUE_BYTES = 48, /* bytes read before frame_complete */
	OP_HS_SUB_SP = 0xec8148,   /* sub rsp, n; the middle byte is 0x83 for a small n */
	OP_HS_PROLOGUE_READ = 64,
	OP_HS_LOWERED_WORDS = 24, /* words that may be below a frame */
	OP_HS_NEVER = 0xffff,	  /* frame_complete of stubs that push as they go */
	OP_HS_NO_FRAME_SIZE = -1, /* of some of them */
	OP_HS_METHOD_CODE = (1 << OP_HOTSPOT_PC_BITS) - 1,
};

/* The address of the CodeBlob that holds @pc in the code heap at @low, or 0. */
static __always_inline __u64 op_hotspot_blob(struct op_unwind *u,
					     const struct op_hotspot_view *v, __u64 pc,
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
						  const struct op_hotspot_view *v,
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
						const struct op_hotspot_view *v,
						__u64 blob, __u8 off)
{
	__u64 low = op_hotspot_member(u, off);

	if (OP_HS_BYTE(v, blob_code_is_pointer))
		return low | op_hotspot_member(u, off + 4) << 32;
	return blob + low;
}

/*
 * Finds the instructions that lower sp in the bytes last read. Bit i is set if a "sub
 * rsp, n" begins at byte i. The loop has no branch, because the verifier would follow
 * both sides of it.
 */
static __always_inline __u64 op_hotspot_subs(struct op_unwind *u)
{
	const __u8 *b = u->runtime_bytes;
	__u64 three = 0;
	__u64 subs = 0;
	int i;

	for (i = 0; i < OP_HS_PROLOGUE_BYTES; i++) {
		__u64 differs;

		three = three >> 8 | (__u64)b[i] << 16;
		differs = (three & 0xfffdff) ^ OP_HS_SUB_SP;
		subs |= (differs - 1) >> 63 << i;
	}
	return subs >> 2; /* the loop set the bit of the third byte of each match */
}

static __always_inline __u8 op_hotspot_byte(struct op_unwind *u, __u64 i)
{
	op_platform_bound(i);
	return u->runtime_bytes[i & (OP_RUNTIME_BYTES - 1)];
}

/*
 * The pc is before frame_complete (@complete). The code there is either [mov [rsp - n],
 * eax]; push rbp; [mov rbp, rsp]; sub rsp, n, or sub rsp, n; mov [rsp + n - 16], rbp. The
 * check whether the method may be entered follows.
 */
static __always_inline enum op_hs_shape op_hotspot_begins(struct op_unwind *u, __u64 pc,
							  __u64 complete)
{
	__u64 at = complete - OP_HS_PROLOGUE_BYTES;
	__u64 size; /* bytes of the sub instruction */
	__u64 back; /* bytes from the sub back to the push of rbp; 0: no push */
	__u64 subs;
	__u64 i;

	if (op_platform_read(u, u->runtime_bytes, OP_HS_PROLOGUE_READ, at))
		return OP_HS_UNKNOWN;
	subs = op_hotspot_subs(u);
	if (!subs) { /* the frame contains only the pushed rbp */
		(void)op_platform_read(u, u->runtime_bytes, 1, pc - 1);
		return u->runtime_bytes[0] == 0x55 ? OP_HS_FP_SAVED : OP_HS_NONE;
	}
	i = op_hotspot_lowest(subs);
	back = op_hotspot_byte(u, i - 1) == 0x55   ? 1
	       : op_hotspot_byte(u, i - 4) == 0x55 ? 4
						   : 0;
	if (pc <= at + i - back)
		return OP_HS_NONE;
	if (pc <= at + i)
		return OP_HS_FP_SAVED;
	size = op_hotspot_byte(u, i + 1) == 0x81 ? 7 : 4;
	if (!back && pc == at + i + size && op_hotspot_byte(u, i + size + 1) == 0x89)
		return OP_HS_FP_KEPT;
	return OP_HS_WHOLE;
}

/* Three words of machine code: before the pc, at the pc, and after that. */
struct op_hs_words {
	__u64 a, b, c;
};

/*
 * Does only a return remain to run? The safepoint poll before it is test [page], eax
 * (JDK 8), test [r10], eax (JDK 10 to 15), or cmp rsp, [r15 + n]; ja (JDK 16 and
 * later).
 */
static __always_inline bool op_hotspot_returns(const struct op_hs_words *w)
{
	__u64 b = w->b;
	__u64 c = w->c;

	return (b & 0xff) == 0xc3 ||
	       /* jcc; ret */
	       (b & 0x00ff00000000f0ff) == 0x00c300000000800f ||
	       /* cmp rsp, [r15 + n]; ja; ret */
	       ((b & 0xff00000000ffffff) == 0x0f00000000a73b49 &&
		(c & 0x0000ff00000000ff) == 0x0000c30000000087) ||
	       ((b & 0x0000ffff00ffffff) == 0x0000870f00673b49 &&
		(c & 0x0000000000ff0000) == 0x0000000000c30000) ||
	       /* mov r10, [r15 + n]; test [r10], eax; ret */
	       ((b & 0xff00000000ffffff) == 0x4100000000978b4d &&
		(c & 0x0000000000ff00ff) == 0x0000000000c30085) ||
	       (b & 0xff00ffff00ffffff) == 0xc300854100578b4d ||
	       (b & 0x00000000ff00ffff) == 0x00000000c3008541 ||
	       /* test [rip + n], eax; ret */
	       (b & 0x00ff00000000ffff) == 0x00c3000000000585 ||
	       /* mov r10, n; test [r10], eax; ret */
	       ((b & 0xffff) == 0xba49 && (c & 0xff00ffff0000) == 0xc30085410000) ||
	       /* a wrapper of a native method: cmp [r15 + n], 0; jne; ret */
	       ((b & 0x00ffffff00ffffff) == 0x00850f00007f8349 &&
		(c & 0x00000000ff000000) == 0x00000000c3000000);
}

/* The pc is at or after frame_complete. An epilogue is [add rsp, n]; pop rbp; and the
 * return or a jump. */
static __always_inline enum op_hs_shape op_hotspot_ends(struct op_unwind *u, __u64 pc)
{
	const __u64 *word = (const __u64 *)u->runtime_bytes;
	struct op_hs_words w;

	if (op_platform_read(u, u->runtime_bytes, sizeof(w), pc - 8))
		return OP_HS_UNKNOWN;
	w = (struct op_hs_words){ word[0], word[1], word[2] };
	if ((w.b & 0xff) == 0x5d) /* pop rbp */
		return OP_HS_FP_SAVED;
	if ((w.a & 0xff00ffffff000000) == 0x5d00c48348000000 ||
	    (w.a & 0xff00000000ffffff) == 0x5d00000000c48148 || op_hotspot_returns(&w))
		return OP_HS_NONE;
	/* pop [rsp + n]: the code moves a word through the stack */
	if ((w.b & 0xffffff) == 0x24448f || (w.b & 0xffffff) == 0x24848f)
		return OP_HS_PUSHED;
	return OP_HS_WHOLE;
}

/*
 * The frame of @bytes bytes is whole, and more words are below it: an intrinsic that
 * compares strings pushes one word, one that searches a string pushes a few, and a slow
 * path of the barriers of ZGC or G1 saves registers. Search for the return address.
 */
static __always_inline enum op_next
op_hotspot_lowered(struct op_unwind *u, const struct op_hotspot_view *v, __u64 bytes)
{
	const __u64 *word = (const __u64 *)u->runtime_bytes;
	__u64 at = u->sp + bytes - 16;
	__u64 found = 0;
	__u32 i;

	if (op_platform_read(u, u->runtime_bytes, OP_HS_LOWERED_WORDS * 8, at))
		return op_end(u, OP_ERROR_hotspot_read_frame);
	for (i = 1; i < OP_HS_LOWERED_WORDS; i++)
		found |= op_hotspot_in_heap(v, word[i]) << i;
	if (!found)
		return op_end(u, OP_ERROR_hotspot_return_address);
	i = (__u32)op_hotspot_lowest(found);
	op_platform_bound(i);
	i &= OP_RUNTIME_BYTES / 8 - 1;
	return op_hotspot_go(u, v, word[i], at + (i + 1) * 8,
			     word[(i - 1) & (OP_RUNTIME_BYTES / 8 - 1)]);
}

/* The return address is not where the blob's frame size would have it: try other
 * places. Stubs push words as they go, some of them a frame record. */
static __always_inline enum op_next
op_hotspot_elsewhere(struct op_unwind *u, const struct op_hotspot_view *v, __u64 bytes)
{
	__u64 top[2] = { 0 };
	__u64 fp = u->fp;
	__u64 next = 0;
	__u64 ra = 0;

	if (u->exact) {
		if (op_read_stack(u, u->sp, &top[0]) ||
		    op_read_stack(u, u->sp + 8, &top[1]))
			return op_end(u, OP_ERROR_hotspot_read_frame);
		if (op_hotspot_in_heap(v, top[0]))
			return op_hotspot_go(u, v, top[0], u->sp + 8, fp);
		if (op_hotspot_in_heap(v, top[1]))
			return op_hotspot_go(u, v, top[1], u->sp + 16, top[0]);
		if (fp - u->sp <= bytes && !(fp & 7)) {
			(void)op_read_stack(u, fp, &next);
			(void)op_read_stack(u, fp + 8, &ra);
		}
		if (op_hotspot_in_heap(v, ra))
			return op_hotspot_go(u, v, ra, fp + 16, next);
	}
	return op_hotspot_lowered(u, v, bytes);
}

/* Go to the caller of code whose frame has @bytes bytes, of which @shape exists. */
static __always_inline enum op_next op_hotspot_sized(struct op_unwind *u,
						     const struct op_hotspot_view *v,
						     __u64 bytes, enum op_hs_shape shape)
{
	__u64 cfa = u->sp + bytes;
	__u64 fp = 0;
	__u64 ra = 0;

	if (shape == OP_HS_PUSHED)
		cfa += 8;
	if (shape == OP_HS_NONE)
		cfa = u->sp + 8;
	if (shape == OP_HS_FP_SAVED)
		cfa = u->sp + 16;
	if (op_read_stack(u, cfa - 8, &ra) || op_read_stack(u, cfa - 16, &fp))
		return op_end(u, OP_ERROR_hotspot_read_frame);
	if (shape == OP_HS_UNKNOWN || !op_hotspot_in_heap(v, ra))
		return op_hotspot_elsewhere(u, v, bytes);
	if (shape == OP_HS_NONE || shape == OP_HS_FP_KEPT)
		fp = u->fp;
	return op_hotspot_go(u, v, ra, cfa, fp);
}

/*
 * The pc at which a compiled method's frame continues. In a frame that will be
 * deoptimised, a handler of its method replaces the return address, and the frame keeps
 * the original address.
 */
static __always_inline __u64 op_hotspot_deopt(struct op_unwind *u,
					      const struct op_hotspot_view *v, __u64 blob,
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
						const struct op_hotspot_view *v,
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
op_hotspot_other(struct op_unwind *u, const struct op_hotspot_view *v, __u64 look)
{
	__u64 blob = op_hotspot_find_blob(u, v, look);
	enum op_hs_shape shape = OP_HS_WHOLE;
	__u64 code = 0;
	__u64 words;
	__u64 begun;
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
	return op_hotspot_sized(u, v, words * 8, shape);
}

#endif
