/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The native step: it finds the rule of a pc, and goes to the caller's frame. */
#ifndef OP_NATIVE_H
#define OP_NATIVE_H

#include "bpf/walk/find.h"
#include "bpf/walk/guess.h"

/* The rules by which the caller's frame is on the same stack: a bit for each OP_CFA_*. */
#define OP_CFA_ONE_STACK (~(1ULL << OP_CFA_DEREF_SP | 1ULL << OP_CFA_REG))

/* The runtime whose interpreter loop contains ELF address @vaddr of u's segment, or
 * OP_RUNTIME_NONE. */
static __always_inline __u32 op_loop_runtime(struct op_unwind *u, __u64 vaddr)
{
	__u32 off = (u->map.segment << OP_REF_SHIFT) & (OP_SLAB_BYTES - 8);
	__u64 word = u->map.loops;
	__u32 runtime = (__u32)word;
	const __u8 *slab;

	if (!runtime || runtime >= OP_RUNTIME_MAX)
		return OP_RUNTIME_NONE;
	slab = op_platform_slab(u, u->map.segment >> OP_REF_SLAB_SHIFT);
	if (!slab)
		return OP_RUNTIME_NONE;
	if (vaddr >= op_slab_u64(slab, off, 3) && vaddr < op_slab_u64(slab, off, 4))
		return runtime;
	if ((__u32)(word >> 32) > 1 && vaddr >= op_slab_u64(slab, off, 5) &&
	    vaddr < op_slab_u64(slab, off, 6))
		return runtime;
	return OP_RUNTIME_NONE;
}

static __always_inline __u32 op_slab_row(const __u8 *slab, __u32 base, __u32 i)
{
	return *(const __u32 *)(slab + ((base + i * 4) & (OP_SLAB_BYTES - 4)));
}

/* The row for page offset @pc in the rows of one page: pc | rule << 16. */
static __always_inline __u32 op_find_row(struct op_unwind *u, op_ref rows, __u32 count,
					 __u32 pc)
{
	const __u8 *slab = op_platform_slab(u, rows >> OP_REF_SLAB_SHIFT);
	__u32 base = (rows << OP_REF_SHIFT) & (OP_SLAB_BYTES - 1);
	__u64 left = count;
	__u64 found = op_platform_zero(u);
	int i;

	if (!slab || !count)
		return OP_UNWIND_RULE_INVALID;
	for (i = 0; i < OP_PAGE_ROWS_STEPS && left > 1; i++)
		OP_SEARCH_STEP(found, left, op_slab_row(slab, base, (__u32)at) & 0xffff,
			       pc + 1);
	return op_slab_row(slab, base, (__u32)found);
}

/* Read the words of u's segment into u. Returns false if there is no such slab. */
static __always_inline bool op_read_segment(struct op_unwind *u)
{
	__u32 off = (u->map.segment << OP_REF_SHIFT) & (OP_SLAB_BYTES - 8);
	const __u8 *slab;

	if (u->map.read == u->map.segment)
		return true;
	slab = op_platform_slab(u, u->map.segment >> OP_REF_SLAB_SHIFT);
	if (!slab)
		return false;
	u->map.vaddr = op_slab_u64(slab, off, 0);
	u->map.pages = op_slab_u64(slab, off, 1); /* pages | page_count << 32 */
	u->map.loops = op_slab_u64(slab, off, 2); /* runtime | loop_count << 32 */
	u->map.read = u->map.segment;
	return true;
}

/* The unwind rule for process address @pc in u's mapping, and the runtime whose loop
 * contains it. Returns 0, an error, or OP_END_UNKNOWN where the rule is not made yet. */
static __always_inline __u32 op_find_rule(struct op_unwind *u, __u64 pc,
					  struct op_unwind_rule *ret, __u32 *ret_runtime)
{
	const struct op_unwind_rule *rule;
	__u64 vaddr = pc - u->map.bias;
	__u64 pages;
	__u64 page;
	__u64 entry;
	__u32 row;
	__u32 off;

	*ret_runtime = OP_RUNTIME_NONE;
	/* Code without a file belongs to a runtime, and has frame pointers. */
	*ret = (struct op_unwind_rule){ .cfa = u->map.segment ? OP_CFA_INVALID
							      : OP_CFA_FRAME };
	if (!u->map.segment)
		return 0;
	if (!op_read_segment(u))
		return OP_ERROR_native_bad_slab;
	*ret_runtime = op_loop_runtime(u, vaddr);
	pages = u->map.pages;
	page = (vaddr - u->map.vaddr) >> OP_PAGE_SHIFT;
	if (!(pages >> 32))
		return 0;
	if (page >= pages >> 32)
		return OP_ERROR_native_no_rule;
	entry = op_arena_u64(u, (op_ref)pages, (__u32)page * sizeof(struct op_page));
	off = (__u32)vaddr & ((1u << OP_PAGE_SHIFT) - 1);
	row = op_find_row(u, (op_ref)entry, (__u32)(entry >> 32), off);
	rule = op_platform_rule(u, row >> 16);
	if (!rule) /* OP_UNWIND_RULE_LATE */
		return OP_END_UNKNOWN;
	*ret = *rule;
	if (ret->cfa == OP_CFA_SP_PUSH || ret->cfa == OP_CFA_SP_POP) {
		ret->cfa_off =
			op_cfa_stepped(ret->cfa, ret->cfa_off, off - (row & 0xffff));
		ret->cfa = OP_CFA_SP;
	}
	return 0;
}

/* Go to the caller by the frame record at fp, {caller's fp, return address}. The record
 * must not be below @lowest. */
static __always_inline enum op_next op_step_frame_record(struct op_unwind *u,
							 __u64 lowest)
{
	__u64 fp = u->fp;
	__u64 next_fp = 0;
	__u64 ra = 0;

	/* The fp of a leaf that has no frame yet may have any value. */
	if (!fp && (!op_is_made(u) || !u->exact))
		return op_end(u, OP_END_COMPLETE);
	if (fp < lowest || (fp & 7))
		return op_end(u, OP_ERROR_native_frame_pointer);
	if (op_read_stack(u, fp, &next_fp) || op_read_stack(u, fp + 8, &ra))
		return op_end(u, OP_ERROR_native_frame_pointer);
	ra = op_arch_code_address(u, ra);
	if (!ra)
		return op_end(u,
			      u->guesses ? OP_ERROR_native_zero_return : OP_END_COMPLETE);
	u->kept_lost = 1;
	u->sp = op_arch_sp_after_record(fp, next_fp);
	u->fp = next_fp;
	u->pc = ra;
	u->exact = 0;
	return OP_NEXT_CONTINUE;
}

/*
 * Go to the caller by @rule. A rule that was derived from code must lead to a return
 * address, and so must that of a frame that was @guessed. Otherwise the caller is
 * guessed, or the search continues. The same is required if the code may belong to
 * another file by now. Otherwise the walk ends, and user space, which knows the file,
 * resumes it at this frame.
 */
static __always_inline enum op_next
op_step_by_rule(struct op_unwind *u, const struct op_unwind_rule *rule, __u32 guessed)
{
	bool replaced = (u->map.flags & OP_MAPPING_REPLACED) && !u->heap_moved;
	__u64 pc = u->pc;
	__u64 sp = u->sp;
	__u64 fp = u->fp;
	__u32 exact = u->exact;
	enum op_next next = op_arch_apply(u, rule);
	enum op_call call;
	__u64 ra;

	if (!(rule->save & OP_SAVE_CHECK) && !replaced && guessed != OP_GUESSED_CALLER)
		return next;
	ra = u->pc;
	u->pc = pc; /* the code that the call must lead to */
	call = next == OP_NEXT_CONTINUE && u->sp > sp ? op_is_return_address(u, ra)
						      : OP_CALL_NONE;
	if (call == OP_CALL_HERE || (call && !replaced)) {
		u->pc = ra;
		return next;
	}
	u->sp = sp;
	u->fp = fp;
	u->exact = exact;
	if (!replaced)
		return op_guess_on(u, guessed);
	u->out.words--;
	u->out.frames--;
	return op_end(u, OP_END_UNKNOWN);
}

/* The end of the stack frame of the interpreter's loop, which begins at sp. Outside of
 * the loop's body (pushes, pops) the frame is not set up, and counts as empty. */
static __always_inline __u64 op_loop_cfa(struct op_unwind *u,
					 const struct op_unwind_rule *rule)
{
	switch (rule->cfa) {
	case OP_CFA_SP:
		return u->sp + (__s64)rule->cfa_off;
	case OP_CFA_FP:
		return u->fp + (__s64)rule->cfa_off;
	case OP_CFA_FRAME:
		return u->fp + 16;
	default:
		return u->exact ? u->sp : ~0ULL;
	}
}

/* The kind of the frame at pc (enum op_frame_kind). */
static __always_inline __u32 op_frame_kind_now(const struct op_unwind *u)
{
	if (u->exact)
		return OP_FRAME_NATIVE_EXACT;
	return u->guessed > OP_GUESSED_FRAME ? OP_FRAME_NATIVE_GUESSED : OP_FRAME_NATIVE;
}

/* Restore a return address that a uretprobe has replaced. */
static __always_inline void op_pass_uretprobe(struct op_unwind *u)
{
	__u32 i = u->passed.next;

	if (u->exact || u->pc != u->returns.trampoline || i >= u->passed.len)
		return;
	op_platform_bound(i);
	if (i >= OP_RETURNS_MAX || u->returns.sp[i] != u->sp)
		return;
	u->pc = u->returns.pc[i];
	u->passed.next = i + 1;
}

/* Push the frame at pc. The caller has checked op_frame_room(). */
static __always_inline void op_push_native(struct op_unwind *u,
					   const struct op_unwind_rule *rule)
{
	/* A signal handler returns to the first instruction of the restorer. Another
	 * function precedes that, and not a call. */
	op_push_word(u, op_frame_word(rule->cfa == OP_CFA_SIGNAL ? OP_FRAME_NATIVE_EXACT
								 : op_frame_kind_now(u),
				      u->pc));
	u->out.frames++;
	if (u->exact)
		u->kept_lost = 0;
}

/* Must sp go up by a rule of this kind? A place that was loaded from the stack or kept in a
 * register may be on another, lower stack, as where OCaml's code calls C. So may fp, if
 * nothing was guessed. (Without branches, which the verifier would follow.) */
static __always_inline __u64 op_is_on_one_stack(const struct op_unwind *u, __u32 cfa)
{
	__u64 kinds = OP_CFA_ONE_STACK & ~(((__u64)u->guesses - 1) >> 63 << OP_CFA_FP);

	return kinds >> cfa & 1;
}

/* Advance by one native frame: push the pc and go to the caller's frame. */
static __always_inline enum op_next op_step_native(struct op_unwind *u)
{
	struct op_unwind_rule rule;
	/* the lowest sp that the caller may have */
	__u64 sp = u->sp + (u->exact ? 0 : 1);
	enum op_next next;
	__u32 instance;
	__u32 runtime;
	__u32 guessed;
	bool made, silent, lazy;
	__u32 error;
	__u64 look;

	if (u->passed.len)
		op_pass_uretprobe(u);
	look = u->exact ? u->pc : u->pc - 1;
	if (look < OP_PC_MIN || look >= OP_ARCH_USER_END)
		return op_end(u, OP_ERROR_native_bad_pc);
	error = op_find_mapping(u, look);
	if (error)
		return op_end(u, error);
	lazy = u->map.flags & OP_MAPPING_LAZY;
	if (lazy && !op_platform_direct_rule(u, look, &rule))
		return op_end(u, OP_END_UNKNOWN);
	instance = u->map.flags >> OP_MAPPING_INSTANCE_SHIFT & OP_MAPPING_INSTANCE_MASK;
	if ((u->map.flags & OP_MAPPING_CODE) && !u->runtime_done)
		goto enter;
	runtime = OP_RUNTIME_NONE;
	error = lazy ? 0 : op_find_rule(u, look, &rule, &runtime);
	if (error == OP_END_UNKNOWN && op_platform_direct_rule(u, look, &rule))
		error = 0;
	if (error)
		return op_end(u, error);
	if (runtime != OP_RUNTIME_NONE && !u->runtime_done) {
		u->loop_cfa = op_loop_cfa(u, &rule);
		goto enter;
	}
	u->runtime_done = 0;
	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	op_push_native(u, &rule);
	guessed = u->guessed;
	made = op_is_made(u);
	silent = made || rule.save & OP_SAVE_CHECK;
	switch (rule.cfa) {
	case OP_CFA_INVALID:
		return op_guess_begin(u);
	case OP_CFA_STOP:
		return op_end(u, OP_END_COMPLETE);
	case OP_CFA_SIGNAL:
		return op_arch_signal_frame(u);
	case OP_CFA_FRAME:
		u->guessed = made ? OP_GUESSED_FRAME : silent * OP_GUESSED_WAY;
		/* Code without unwind data, of a file or of a runtime's stubs, may or
		 * may not keep frame pointers. */
		if ((made && u->exact && op_arch_is_recordless(u, look)) ||
		    !op_leads_to_code(u, silent))
			return op_guess_on(u, silent ? 0 : guessed);
		next = op_step_frame_record(u, u->sp);
		break;
	case OP_CFA_FRAME_SWITCH:
		u->guessed = silent * OP_GUESSED_WAY;
		next = op_step_frame_record(u, 0);
		u->sp = op_arch_go_sp(u->sp, u->fp);
		return next;
	default:
		u->guessed = 0;
		sp *= op_is_on_one_stack(u, rule.cfa);
		next = op_step_by_rule(u, &rule, guessed);
		break;
	}
	if (next == OP_NEXT_CONTINUE && u->step == OP_STEP_NATIVE && u->sp < sp)
		return op_end(u, OP_ERROR_native_stuck);
	return next;
enter:
	return op_enter_runtime(u, instance);
}

#endif
