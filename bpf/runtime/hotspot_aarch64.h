/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The parts of the HotSpot step that depend on the architecture: aarch64. A call leaves
 * the return address in x30 (lr). A compiled frame is, downwards from the caller's sp,
 * {lr, caller's fp, ...}, as on x86-64, and x29 need not point to it. Return addresses
 * may be signed (-XX:UseBranchProtection).
 */
#ifndef OP_HOTSPOT_ARCH_H
#define OP_HOTSPOT_ARCH_H

enum {
	OP_HS_METHOD_REG = 12,
	OP_HS_BCP_REG = 22,
	OP_HS_GONE_SENDER = 20, /* the caller's sp after a method's frame is removed */
	OP_HS_RETURN_BYTES = 0, /* of a return address on the stack */
	/* C2's code pushes its own return address when it calls native code (8 to 21) */
	OP_HS_PUSHED_BYTES = 16,
	OP_HS_NAMED_ADAPTERS = 1,

	OP_HS_PROLOGUE_WORDS = 32, /* instructions read before frame_complete */
	OP_HS_BEFORE = 6,	   /* read before a pc, and at and after it */
	OP_HS_AFTER = 3,
};

/* Instructions, of which an operand may be left out by a mask. */
#define OP_HS_IS_SAVE(op)   op_hotspot_equal((op)&0xffc07fff, 0xa9007bfd)
#define OP_HS_IS_PUSH(op)   op_hotspot_equal(op, 0xa9bf7bfd) /* stp x29, x30, [sp, -16]! */
#define OP_HS_IS_LOAD(op)   op_hotspot_equal((op)&0xffc07fff, 0xa9407bfd)
#define OP_HS_IS_POP(op)    op_hotspot_equal(op, 0xa8c17bfd) /* ldp x29, x30, [sp], 16 */
#define OP_HS_IS_ADD_SP(op) op_hotspot_equal((op)&0xff8003ff, 0x910003ff)
#define OP_HS_IS_BRANCH(op) op_hotspot_equal((op)&0x7c000000, 0x14000000)
#define OP_HS_IS_FAR(op)    op_hotspot_equal((op)&0xfe000000, 0xd6000000) /* ret, ... */
#define OP_HS_IS_CALL(op)   op_hotspot_equal((op)&0xfffffc1f, 0xd63f0000) /* blr */
#define OP_HS_IS_POLL_1(op) op_hotspot_equal((op)&0x9f00001f, 0x10000008) /* adr x8 */
#define OP_HS_IS_POLL_2(op) op_hotspot_equal((op)&0xffc003ff, 0xf9000388)
#define OP_HS_IS_SUB_SP(op)                                                              \
	(op_hotspot_equal((op)&0xff8003ff, 0xd10003ff) |                                 \
	 op_hotspot_equal((op)&0xffe0ffff, 0xcb2063ff))
#define OP_HS_IS_KEEP(op) op_hotspot_equal((op)&0xffff83ff, 0xa9bf03ff)

/* 1 if the instructions are equal, else 0. It has no branch, because the verifier would
 * follow both sides. */
static __always_inline __u64 op_hotspot_equal(__u32 a, __u32 b)
{
	return ((__u64)(a ^ b) - 1) >> 63;
}

/* The caller's sp when a method is entered. Its register was renamed in JDK 20. */
static __always_inline __u64 op_hotspot_entry_sender(struct op_unwind *u,
						     const struct op_runtime_view *v)
{
	__u32 reg = OP_HS_BYTE(v, entry_sender) & (OP_LEAF_REGS - 1);

	op_platform_bound(reg);
	return u->reg[reg & (OP_LEAF_REGS - 1)];
}

/* The same while a frame is being made, if its slot for it has @slot. */
static __always_inline __u64 op_hotspot_half_sender(struct op_unwind *u,
						    const struct op_runtime_view *v,
						    __u64 slot)
{
	(void)slot;
	return op_hotspot_entry_sender(u, v);
}

/* The return address of interpreted code that has no frame, by a rule's @where. */
static __always_inline __u64 op_hotspot_frameless_return(struct op_unwind *u, __u32 where,
							 __u64 *sp)
{
	__u32 reg = (where - OP_HOTSPOT_RETURN_REG) & (OP_LEAF_REGS - 1);

	(void)sp;
	if (where == OP_HOTSPOT_RETURN_LR)
		return op_arch_code_address(u, u->lr);
	if (where < OP_HOTSPOT_RETURN_REG)
		return 0;
	op_platform_bound(reg);
	return op_arch_code_address(u, u->reg[reg & (OP_LEAF_REGS - 1)]);
}

/* The return address and the caller's fp of a frame that ends at @cfa. */
static __always_inline int op_hotspot_read_frame(struct op_unwind *u,
						 enum op_hs_shape shape, __u64 cfa,
						 __u64 *ra, __u64 *fp)
{
	if (shape == OP_HS_NONE || shape == OP_HS_FP_KEPT) {
		*ra = op_arch_code_address(u, u->lr);
		*fp = u->fp;
		return 0;
	}
	return op_hotspot_read_return(u, cfa - 8, ra) || op_read_stack(u, cfa - 16, fp);
}

/* The return address of a stub by its rule. It is saved above the caller's fp, @saved
 * words below @cfa. */
static __always_inline int op_hotspot_ruled_return(struct op_unwind *u, __u64 cfa,
						   __u64 saved, __u64 *ret)
{
	if (saved != OP_HOTSPOT_FP_SAME)
		return op_hotspot_read_return(u, cfa - saved * 8 + 8, ret);
	if (!u->exact)
		return -1;
	*ret = op_arch_code_address(u, u->lr);
	return 0;
}

/*
 * The pc is before frame_complete (@complete). The code there is sub sp, sp, n; stp x29,
 * x30, [sp, n - 16], or, for a large frame, stp x29, x30, [sp, -16]!; [mov x29, sp];
 * sub sp, sp, n - 16. The check whether the method may be entered follows.
 */
static __always_inline enum op_hs_shape op_hotspot_begins(struct op_unwind *u, __u64 pc,
							  __u64 complete)
{
	const __u32 *op = (const __u32 *)u->runtime_bytes;
	__u64 at = complete - OP_HS_PROLOGUE_WORDS * 4;
	__u64 saves = 0;
	__u64 pushes = 0;
	__u64 subs = 0;
	__u64 run; /* a bit for each instruction before the pc */
	int i;

	if (op_platform_read(u, u->runtime_bytes, OP_HS_PROLOGUE_WORDS * 4, at))
		return OP_HS_UNKNOWN;
	if (pc < at)
		return OP_HS_NONE;
	for (i = 0; i < OP_HS_PROLOGUE_WORDS; i++) {
		saves |= OP_HS_IS_SAVE(op[i]) << i;
		pushes |= OP_HS_IS_PUSH(op[i]) << i;
		subs |= OP_HS_IS_SUB_SP(op[i]) << i;
	}
	run = (1ULL << ((pc - at) / 4 & 63)) - 1;
	if (pushes) {
		subs &= -(pushes & -pushes); /* behind the first push */
		return !(pushes & run) ? OP_HS_NONE
		       : subs & run    ? OP_HS_WHOLE
				       : OP_HS_FP_SAVED;
	}
	if (!saves)
		return OP_HS_UNKNOWN;
	saves &= -saves;
	return saves & run		 ? OP_HS_WHOLE
	       : saves >> 1 & run & subs ? OP_HS_FP_KEPT
					 : OP_HS_NONE;
}

/*
 * The pc is at or after frame_complete. An epilogue is ldp x29, x30, [sp, n - 16]; add
 * sp, sp, n, or, of a large frame, add sp, sp, n - 16; ldp x29, x30, [sp], 16. A poll, and
 * the return or a jump follow. The poll's slow path is adr x8; str x8, [x28, n]; b.
 */
static __always_inline enum op_hs_shape op_hotspot_ends(struct op_unwind *u, __u64 pc)
{
	const __u32 *op = (const __u32 *)u->runtime_bytes;
	__u64 loaded = 0;
	__u64 gone = 0;
	int i;

	if (op_platform_read(u, u->runtime_bytes, (OP_HS_BEFORE + OP_HS_AFTER) * 4,
			     pc - OP_HS_BEFORE * 4))
		return OP_HS_UNKNOWN;
	for (i = 0; i < OP_HS_BEFORE; i++) {
		gone |= OP_HS_IS_POP(op[i]) | (OP_HS_IS_ADD_SP(op[i]) & loaded);
		gone &= ~(OP_HS_IS_BRANCH(op[i]) | OP_HS_IS_FAR(op[i]));
		loaded = OP_HS_IS_LOAD(op[i]);
	}
	for (i = OP_HS_BEFORE - 2; i <= OP_HS_BEFORE; i++)
		gone |= OP_HS_IS_POLL_1(op[i]) & OP_HS_IS_POLL_2(op[i + 1]) &
			OP_HS_IS_BRANCH(op[i + 2]);
	if (gone)
		return OP_HS_NONE;
	if (OP_HS_IS_POP(op[OP_HS_BEFORE]))
		return OP_HS_FP_SAVED;
	if ((OP_HS_IS_KEEP(op[OP_HS_BEFORE - 1]) & OP_HS_IS_CALL(op[OP_HS_BEFORE])) |
	    (OP_HS_IS_CALL(op[OP_HS_BEFORE - 1]) &
	     op_hotspot_equal(op[OP_HS_BEFORE], 0x910043ff)))
		return OP_HS_PUSHED;
	return OP_HS_WHOLE;
}

/* A compiled method that made a call. Behind C2's call of @native code is add sp, sp, 16. */
static __always_inline enum op_hs_shape op_hotspot_called(struct op_unwind *u,
							  bool native)
{
	__u32 op = 0;

	if (native)
		(void)op_platform_read(u, &op, sizeof(op), u->pc);
	return op == 0x910043ff ? OP_HS_PUSHED : OP_HS_WHOLE;
}

/* The frame of an upcall's stub that begins at @code: stp x29, x30, [sp, -16]!; mov x29,
 * sp; ...; ldp x29, x30, [sp], 16; ret. */
static __always_inline enum op_hs_shape op_hotspot_upcall_shape(struct op_unwind *u,
								__u64 code)
{
	__u32 op = 0;

	(void)op_platform_read(u, &op, sizeof(op), u->pc);
	return u->pc == code || op == 0xd65f03c0 ? OP_HS_NONE
	       : u->pc == code + 4		 ? OP_HS_FP_SAVED
						 : OP_HS_WHOLE;
}

/* The return address is not where the blob's frame size would have it: try the frame
 * record at fp, and lr. */
static __always_inline enum op_next
op_hotspot_elsewhere(struct op_unwind *u, const struct op_runtime_view *v, __u64 bytes)
{
	__u64 fp = u->fp;
	__u64 next = 0;
	__u64 ra = 0;

	if (u->exact && fp - u->sp <= bytes && !(fp & 7) &&
	    !op_read_stack(u, fp, &next) && !op_hotspot_read_return(u, fp + 8, &ra) &&
	    op_hotspot_in_heap(v, ra))
		return op_hotspot_go(u, v, ra, fp + 16, next);
	ra = op_arch_code_address(u, u->lr);
	if (u->exact && op_hotspot_in_heap(v, ra))
		return op_hotspot_go(u, v, ra, u->sp, fp);
	return op_hotspot_lowered(u, v, bytes);
}

/*
 * A stub without a rule. When it was interrupted, it has no frame, or a frame record,
 * whose return address is also in lr if the stub made no call. An adapter from compiled to
 * interpreted code moves sp. A register keeps its value.
 */
static __always_inline enum op_next op_hotspot_stub(struct op_unwind *u,
						    const struct op_runtime_view *v,
						    enum op_hs_stub kind)
{
	__u64 ra = op_arch_code_address(u, u->lr);
	__u64 sp = u->sp;
	__u64 record = 0;
	__u64 sender;

	if (!u->exact || !(op_hotspot_in_heap(v, ra) | op_hotspot_in_vm(v, ra)))
		return op_hotspot_record(u, v);
	if (!op_hotspot_read_return(u, u->fp + 8, &record) && record == ra)
		return op_hotspot_record(u, v);
	sender = op_hotspot_entry_sender(u, v);
	if (kind == OP_HS_STUB_ADAPTER && op_hotspot_is_above(sp, sender))
		sp = sender;
	if (!op_hotspot_is_return(u, v, ra))
		return op_end(u, OP_ERROR_hotspot_return_address);
	return op_hotspot_go(u, v, ra, sp, u->fp);
}

#endif
