/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of the native step that depend on the architecture: x86-64 (System V ABI;
 * Linux signal frames). */
#ifndef OP_ARCH_H
#define OP_ARCH_H

#include "bpf/walk/unwind.h"

#define OP_ARCH_USER_END (1ULL << 56)

enum {
	/* DWARF register numbers, System V ABI AMD64, figure 3.36 */
	OP_X86_RAX = 0,
	OP_X86_RDX,
	OP_X86_RCX,
	OP_X86_RBX,
	OP_X86_RSI,
	OP_X86_RDI,
	OP_X86_RBP,
	OP_X86_RSP,
	OP_X86_R8,
	OP_X86_R9,
	OP_X86_R10,
	OP_X86_R11,
	OP_X86_R12,
	OP_X86_R13,
	OP_X86_R14,
	OP_X86_R15,
	/* in a signal handler's frame sp points to struct ucontext: uc_mcontext.gregs */
	OP_X86_GREGS = 40,
	OP_X86_GREGS_LEN = 17,
	OP_ARCH_KEPT_REG = OP_X86_RBX,
	/* the most bytes of a function whose caller is guessed */
	OP_X86_FUNCTION_MAX = 1 << 14,
};

#include "bpf/walk/cfa.h"

/* The caller's sp, if this frame's record is at @fp. */
static __always_inline __u64 op_arch_sp_after_record(__u64 fp, __u64 next_fp)
{
	return fp + 16;
}

/* The sp of a Go function with frame pointer @fp that was found by a frame record. */
static __always_inline __u64 op_arch_go_sp(__u64 sp, __u64 fp)
{
	return sp;
}

/* A return address is a code address as it is. */
static __always_inline __u64 op_arch_code_address(const struct op_unwind *u, __u64 ra)
{
	return ra;
}

/* Is there an entry of a PLT at @at: a jump through a word of memory, or the
 * instruction before that? (System V ABI AMD64, 5.2; with IBT, B.) */
static __always_inline bool op_arch_is_plt(struct op_unwind *u, __u64 at)
{
	__u64 code = 0;

	if (op_platform_read(u, &code, sizeof(code), at))
		return false;
	if ((code & 0xffffffff) == 0xfa1e0ff3) /* endbr64 */
		code >>= 32;
	return (code & 0xffff) == 0x25ff || (code & 0xffffff) == 0x25fff2 ||
	       (code & 0xff) == 0x68;
}

/*
 * Do the 8 bytes of code before @ra end with a call (Intel's manual, volume 2, CALL)? A
 * call with a fixed target leads here if the target is shortly before pc, in its
 * function; if the call is in code without a file; or if pc is in another file and the
 * target is a PLT entry. Otherwise the call leads to another function, which may have
 * jumped to the function of pc. u has the mapping of @ra.
 */
static __always_inline enum op_call op_arch_is_call(struct op_unwind *u, __u64 code,
						    __u64 ra)
{
	__u32 m = (__u32)(code >> 56);	      /* ModRM of FF /2 with two bytes */
	__u32 m3 = (__u32)(code >> 48) & 255; /* and so on */
	__u32 m4 = (__u32)(code >> 40) & 255;
	__u32 m6 = (__u32)(code >> 24) & 255;
	__u32 m7 = (__u32)(code >> 16) & 255;
	__u64 to = ra + (__u64)(__s64)(__s32)(code >> 32);

	if (((code >> 24) & 255) == 0xe8)
		return u->pc - to < OP_X86_FUNCTION_MAX || op_is_made(u) ||
				       (u->pc - u->map.start >=
						u->map.end - u->map.start &&
					op_arch_is_plt(u, to))
			       ? OP_CALL_HERE
			       : OP_CALL_ELSEWHERE;
	if (m3 == 0xff &&
	    ((m & 0xf8) == 0xd0 || ((m & 0xf8) == 0x10 && (m & 7) != 4 && (m & 7) != 5)))
		return OP_CALL_HERE;
	if (m4 == 0xff && (((m3 & 0xf8) == 0x50 && (m3 & 7) != 4) || m3 == 0x14))
		return OP_CALL_HERE;
	if (((code >> 32) & 255) == 0xff && m4 == 0x54)
		return OP_CALL_HERE;
	if (m7 == 0xff && (((m6 & 0xf8) == 0x90 && (m6 & 7) != 4) || m6 == 0x15))
		return OP_CALL_HERE;
	if (((code >> 8) & 255) == 0xff && (m7 == 0x94 || m7 == 0x14))
		return OP_CALL_HERE;
	return OP_CALL_NONE;
}

/* Go to the interrupted frame of a signal: the kernel saved its registers at sp. */
static __always_inline enum op_next op_arch_signal_frame(struct op_unwind *u)
{
	/* BPF's stack is small: 512 bytes for all functions together. No runtime's step
	 * is under way, so its buffer can be used. */
	__u64 *g = (__u64 *)(void *)u->runtime_bytes;

	_Static_assert(OP_X86_GREGS_LEN * 8 <= sizeof(u->runtime_bytes), "they fit");
	if (op_platform_read_stack(u, g, OP_X86_GREGS_LEN * 8, u->sp + OP_X86_GREGS))
		return op_end(u, OP_ERROR_native_read_signal);
	u->reg[OP_X86_R8] = g[0];
	u->reg[OP_X86_R9] = g[1];
	u->reg[OP_X86_R10] = g[2];
	u->reg[OP_X86_R11] = g[3];
	u->reg[OP_X86_R12] = g[4];
	u->reg[OP_X86_R13] = g[5];
	u->reg[OP_X86_R14] = g[6];
	u->reg[OP_X86_R15] = g[7];
	u->reg[OP_X86_RDI] = g[8];
	u->reg[OP_X86_RSI] = g[9];
	u->reg[OP_X86_RBX] = g[11];
	u->reg[OP_X86_RDX] = g[12];
	u->reg[OP_X86_RAX] = g[13];
	u->reg[OP_X86_RCX] = g[14];
	u->fp = g[10];
	u->sp = g[15];
	u->pc = g[16];
	u->exact = 1;
	u->window_at = ~0ULL; /* the interrupted stack may be another one */
	return OP_NEXT_CONTINUE;
}

/* Set OP_ARCH_KEPT_REG to the caller's value, if the rules of this file follow it. */
static __always_inline void op_arch_keep(struct op_unwind *u,
					 const struct op_unwind_rule *rule, __u64 cfa)
{
	__u32 kept = rule->save >> OP_SAVE_KEPT_SHIFT;

	if (!kept)
		u->kept_lost = 1;
	else if (kept != OP_SAVE_KEPT_SAME)
		u->kept_lost = op_read_stack(u, cfa - (__u64)kept * 8,
					     &u->reg[OP_ARCH_KEPT_REG]) != 0;
}

/*
 * Is @pc an instruction of a function with frame pointers at which its frame record
 * does not exist? That is at push %rbp, at mov %rsp,%rbp after it, at ret, and at a
 * jump after leave or pop %rbp. Some CPUs spend much time there.
 */
static __always_inline bool op_arch_is_recordless(struct op_unwind *u, __u64 pc)
{
	__u64 code = 0; /* beginning with the byte before @pc */
	__u32 before;
	__u32 at;

	if (op_platform_read(u, &code, sizeof(code), pc - 1))
		return false;
	before = (__u32)code;
	at = (__u32)(code >> 8);
	if ((at & 255) == 0xe9 || (at & 255) == 0xeb)
		return (before & 255) == 0xc9 || (before & 255) == 0x5d;
	return (at & 255) == 0xc3 || at == 0xe5894855 || at == 0xec8b4855 ||
	       before == 0xe5894855 || before == 0xec8b4855;
}

/* Go to the caller's frame by @rule. */
static __always_inline enum op_next op_arch_apply(struct op_unwind *u,
						  const struct op_unwind_rule *rule)
{
	__u64 cfa = 0;
	__u64 ra = 0;
	__u64 fp = u->fp;
	__u32 save = rule->save & OP_SAVE_MASK;
	__u32 error = op_find_cfa(u, rule, &cfa);

	if (error)
		return op_end(u, error);
	if (save == OP_SAVE_RA_REG) {
		if (!u->exact)
			return op_end(u, OP_ERROR_native_leaf_rule);
		ra = u->reg[rule->save_off & (OP_LEAF_REGS - 1)];
	} else if (op_read_stack(u, cfa - 8, &ra)) {
		return op_end(u, OP_ERROR_native_read_ra);
	}
	if (save == OP_SAVE_FP || save == OP_SAVE_FP_AT_FP) {
		__u64 at = (save == OP_SAVE_FP ? cfa : u->fp) + (__s64)rule->save_off;

		if (op_read_stack(u, at, &fp))
			return op_end(u, OP_ERROR_native_read_fp);
	}
	op_arch_keep(u, rule, cfa);
	u->sp = cfa;
	u->fp = fp;
	/* The stack ends here without a STOP rule, as in a context with a stack of its
	 * own. But after a guess, and at a leaf, whose rule may belong to another place
	 * (LuaJIT's interpreter calls into itself), it is more likely that the walk
	 * went wrong. */
	if (!ra)
		return op_end(u, u->guesses | u->exact ? OP_ERROR_native_zero_return
						       : OP_END_COMPLETE);
	u->pc = ra;
	/* without a branch, which the verifier would follow */
	u->exact = (__u32)(((__u64)(rule->cfa ^ OP_CFA_SP) - 1) >> 63) &
		   (__u32)rule->cfa_off & OP_CFA_SP_EXACT;
	return OP_NEXT_CONTINUE;
}

#endif
