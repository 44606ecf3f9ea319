/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The parts of the HotSpot step that depend on the architecture: x86-64. A call pushes the
 * return address. A compiled frame is, downwards from the caller's sp, {return address,
 * caller's fp, ...}.
 */
#ifndef OP_HOTSPOT_ARCH_H
#define OP_HOTSPOT_ARCH_H

enum {
	OP_HS_METHOD_REG = OP_X86_RBX,
	OP_HS_BCP_REG = OP_X86_R13,
	OP_HS_ENTRY_SENDER = OP_X86_R13, /* the caller's sp: when a method is entered */
	OP_HS_GONE_SENDER = OP_X86_RBX,	 /* and after its frame is removed */
	OP_HS_RETURN_REG = OP_X86_RAX,	 /* an adapter keeps the return address here */
	OP_HS_RETURN_BYTES = 8,		 /* of a return address on the stack */
	OP_HS_PUSHED_BYTES = 8,
	OP_HS_NAMED_ADAPTERS = 0,

	OP_HS_RET = 0xc3,
	OP_HS_PUSH_BYTES = 1, /* of push rbp, the first instruction of an upcall's stub */
	OP_HS_PROLOGUE_BYTES = 48, /* bytes read before frame_complete */
	OP_HS_SUB_SP = 0xec8148,   /* sub rsp, n; the middle byte is 0x83 for a small n */
	OP_HS_PROLOGUE_READ = 64,
};

/* The caller's sp when a method is entered, and after its frame is removed. */
static __always_inline __u64 op_hotspot_entry_sender(struct op_unwind *u,
						     const struct op_runtime_view *v)
{
	(void)v;
	return u->reg[OP_HS_ENTRY_SENDER];
}

/* The same while a frame is being made, if its slot for it has @slot. */
static __always_inline __u64 op_hotspot_half_sender(struct op_unwind *u,
						    const struct op_runtime_view *v,
						    __u64 slot)
{
	(void)u;
	(void)v;
	return slot;
}

/* The return address of interpreted code that has no frame, by a rule's @where, and sp
 * after the return. */
static __always_inline __u64 op_hotspot_frameless_return(struct op_unwind *u, __u32 where,
							 __u64 *sp)
{
	__u64 ra = 0;

	if (where == OP_HOTSPOT_RETURN_SP) {
		(void)op_read_stack(u, *sp, &ra);
		*sp += 8;
	} else if (where == OP_HOTSPOT_RETURN_BELOW) {
		(void)op_read_stack(u, *sp + 8, &ra);
		*sp += 16;
	} else if (where >= OP_HOTSPOT_RETURN_REG) {
		ra = u->reg[where & (OP_LEAF_REGS - 1) & ~OP_HOTSPOT_RETURN_REG];
	}
	return ra;
}

/* The return address and the caller's fp of a frame that ends at @cfa. */
static __always_inline int op_hotspot_read_frame(struct op_unwind *u,
						 enum op_hs_shape shape, __u64 cfa,
						 __u64 *ra, __u64 *fp)
{
	if (op_read_stack(u, cfa - 8, ra) || op_read_stack(u, cfa - 16, fp))
		return -1;
	if (shape == OP_HS_NONE || shape == OP_HS_FP_KEPT)
		*fp = u->fp;
	return 0;
}

/* The return address of a stub by its rule, which says how many words below @cfa the
 * caller's fp is saved. */
static __always_inline int op_hotspot_ruled_return(struct op_unwind *u, __u64 cfa,
						   __u64 saved, __u64 *ret)
{
	(void)saved;
	return op_read_stack(u, cfa - 8, ret) ? -1 : 0;
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

/* A compiled method that made a call: of @native code? */
static __always_inline enum op_hs_shape op_hotspot_called(struct op_unwind *u,
							  bool native)
{
	(void)u;
	(void)native;
	return OP_HS_WHOLE;
}

/* The frame of an upcall's stub that begins at @code: push rbp; mov rbp, rsp; ...; leave;
 * ret. */
static __always_inline enum op_hs_shape op_hotspot_upcall_shape(struct op_unwind *u,
								__u64 code)
{
	__u8 op = 0;

	(void)op_platform_read(u, &op, sizeof(op), u->pc);
	return u->pc == code || op == OP_HS_RET	  ? OP_HS_NONE
	       : u->pc == code + OP_HS_PUSH_BYTES ? OP_HS_FP_SAVED
						  : OP_HS_WHOLE;
}

/* The return address is not where the blob's frame size would have it: try other
 * places. Stubs push words as they go, some of them a frame record. */
static __always_inline enum op_next
op_hotspot_elsewhere(struct op_unwind *u, const struct op_runtime_view *v, __u64 bytes)
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

/*
 * A stub without a rule was interrupted. Its return address is above the words that the
 * stub has pushed. An adapter between compiled code and the interpreter pops the return
 * address into a register for a while.
 */
static __always_inline enum op_next op_hotspot_stub(struct op_unwind *u,
						    const struct op_runtime_view *v,
						    enum op_hs_stub kind)
{
	const __u64 *word = (const __u64 *)u->runtime_bytes;
	__u64 kept = u->reg[OP_HS_RETURN_REG];
	__u64 sender = u->reg[OP_HS_ENTRY_SENDER];
	__u64 sp = u->sp;
	__u64 fp = u->fp;
	__u64 found = 0;
	bool is_sure = true;
	__u32 i;

	(void)kind;
	if (!u->exact)
		return op_hotspot_record(u, v);
	if (op_platform_read(u, u->runtime_bytes, OP_HS_STUB_WORDS * 8, sp))
		return op_end(u, OP_ERROR_hotspot_read_frame);
	for (i = 0; i < OP_HS_STUB_WORDS; i++)
		found |= (op_hotspot_in_heap(v, word[i]) | op_hotspot_in_vm(v, word[i]))
			 << i;
	if (!(found & 1) && op_hotspot_in_heap(v, kept)) {
		if (op_hotspot_is_above(sp, sender))
			sp = sender;
	} else if (found) {
		i = (__u32)op_hotspot_lowest(found);
		op_platform_bound(i);
		i &= OP_HS_STUB_WORDS - 1;
		is_sure = !i;
		kept = word[i];
		sp += (__u64)(i + 1) * 8;
		if (sp - 16 == fp) { /* a frame record */
			fp = word[(i - 1) & (OP_HS_STUB_WORDS - 1)];
			is_sure = true;
		}
	} else {
		return op_hotspot_record(u, v);
	}
	if (!is_sure && op_hotspot_in_interpreter(v, kept))
		return op_end(u, OP_ERROR_hotspot_return_address);
	if (!op_hotspot_is_return(u, v, kept))
		return op_end(u, OP_ERROR_hotspot_return_address);
	return op_hotspot_go(u, v, kept, sp, fp);
}

#endif
