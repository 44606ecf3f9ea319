/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The .NET step unwinds methods that the JIT compiled. Half of them keep no frame
 * pointer, but each has unwind data in the format of Windows (UNWIND_INFO), in the same
 * heap. The runtime has maps from an address to the heap, and from there to the method's
 * header. The step follows them at each sample, so a method is known from its first
 * instruction on.
 *
 * The runtime's other generated code is stubs. They run between a call and its target,
 * with the return address at sp.
 */
#ifndef OP_DOTNET_STEP_H
#define OP_DOTNET_STEP_H

#include "bpf/runtime/await/dotnet.h"
#include "bpf/walk/native.h"

/* End the step with the caller's registers in @u. */
static __always_inline enum op_next op_dn_go(struct op_unwind *u, __u64 pc, __u64 sp)
{
	u->pc = pc;
	u->sp = sp;
	u->exact = 0;
	u->guessed = 0;
	u->kept_lost = 1;
	op_state(u)->word[OP_DN_SCAN] = 0;
	op_state(u)->word[OP_DN_START] = 0;
	if (pc - 1 - op_state(u)->word[OP_DN_BEGIN] <
	    op_state(u)->word[OP_DN_END] - op_state(u)->word[OP_DN_BEGIN])
		return OP_NEXT_CONTINUE;
	return op_leave_runtime(u, 0);
}

/* The pc is in a stub, which has no frame. */
static __always_inline enum op_next op_dn_stub(struct op_unwind *u)
{
	__u64 sp = u->sp;
	__u64 ra = 0;

	if (!u->exact)
		return op_end(u, OP_ERROR_dotnet_no_method);
	op_push_word(u, op_frame_word(OP_FRAME_NATIVE_EXACT, u->pc));
	u->out.frames++;
	if (op_read_stack(u, sp, &ra))
		return op_end(u, OP_ERROR_dotnet_read_frame);
	return op_dn_go(u, ra, sp + 8);
}

/* Find the heap that holds @look. Returns false if none does. */
static __always_inline bool op_dn_find_heap(struct op_unwind *u, __u64 look)
{
	__u64 *word = op_state(u)->word;
	__u64 at = op_runtime_u64(u, __builtin_offsetof(struct op_dotnet, ranges));
	__u64 f[OP_DOTNET_FRAGMENT_BYTES / 8];
	__u64 of[2] = { 0 }; /* the image of code compiled ahead of time; the heap */
	__u32 shift = OP_DOTNET_RANGE_BITS + OP_DOTNET_LEVELS * OP_DOTNET_LEVEL_BITS;
	int i;

	for (i = 0; i < OP_DOTNET_LEVELS; i++) {
		shift -= OP_DOTNET_LEVEL_BITS;
		at += (look >> shift & 255) * 8;
		if (op_platform_read(u, &at, sizeof(at), at) || !(at & ~1ULL))
			return false;
		at &= ~1ULL;
	}
	for (i = 0; i < OP_DN_FRAGMENTS; i++) {
		if (op_platform_read(u, f, sizeof(f), at))
			return false;
		if (look >= f[1] && look < f[2])
			break;
		at = f[0] & ~1ULL;
	}
	if (i == OP_DN_FRAGMENTS ||
	    op_platform_read(u, of, sizeof(of), f[3] + OP_DOTNET_SECTION_IMAGE))
		return false;
	if (of[0]) { /* a file that the library does not know yet */
		u->exact = 0;
		return false;
	}
	if (!of[1] ||
	    op_platform_read(u, &word[OP_DN_BASE], 16, of[1] + OP_DOTNET_HEAP_BASE))
		return false;
	word[OP_DN_BEGIN] = f[1];
	word[OP_DN_END] = f[2];
	return true;
}

/* The bit position of the lowest nibble of @w, a word of the map, that is not 0. */
static __always_inline __u32 op_dn_lowest(__u32 w)
{
	__u32 at = 0;
	__u32 none;

	none = !(w & 0xffff);
	op_platform_bound(none);
	at = none << 4;
	none = !(w >> (at & 31) & 0xff);
	op_platform_bound(none);
	at += none << 3;
	none = !(w >> (at & 31) & 0xf);
	op_platform_bound(none);
	return at + (none << 2);
}

/*
 * Find the start of the method that holds @look, in the words of the map that one step
 * reads. Returns 0 if they have none. A word has eight nibbles, each for 32 bytes of
 * code: 0, or the place in them where a method begins. Since .NET 10 a word may also have
 * the distance to the method's start. Then its lowest nibble is greater than 8.
 */
static __always_inline __u64 op_dn_find_start(struct op_unwind *u, __u64 look)
{
	__u64 *word = op_state(u)->word;
	__u64 off = look - word[OP_DN_BASE];
	__u64 last = (off >> OP_DOTNET_MAP_WORD_BITS) - word[OP_DN_SCAN];
	__u64 first = last >= OP_DN_MAP_WORDS ? last - (OP_DN_MAP_WORDS - 1) : 0;
	__u32 bits = 28 - ((__u32)off >> OP_DOTNET_BUCKET_BITS & 7) * 4;
	__u64 found = 0; /* the word's number, and the word */
	__u32 next;
	__u32 w;
	__u32 i;

	if (op_platform_read(u, u->runtime_bytes, OP_DN_MAP_BYTES,
			     word[OP_DN_MAP] + first * 4))
		return 0;
	w = op_dn_half(u, (__u32)(last - first) * 4);
	/* in the word of @look, the nibbles after it do not count */
	next = w >> (bits & 31);
	next &= ~op_dn_pick(op_dn_less((((__u32)off >> 2) & 7) + 1, next & 15), 15, 0);
	next <<= bits & 31;
	w = op_dn_pick(op_dn_is(word[OP_DN_SCAN], 0) & op_dn_less(w & 15, 9), next, w);
	*(__u32 *)(u->runtime_bytes +
		   ((__u32)(last - first) * 4 & (OP_RUNTIME_BYTES - 4))) = w;
	for (i = 0; i < OP_DN_MAP_WORDS; i++) {
		__u64 use;

		w = op_dn_half(u, i * 4);
		use = ((__u64)w | -(__u64)w) >> 63 & (i - (last - first) - 1) >> 63;
		op_platform_bound(use);
		found ^= (found ^ ((__u64)i << 32 | w)) & -use;
	}
	w = (__u32)found;
	off = (first + (found >> 32)) << OP_DOTNET_MAP_WORD_BITS;
	if (!w) {
		word[OP_DN_SCAN] += OP_DN_MAP_WORDS;
		if (!first)
			word[OP_DN_SCAN] = OP_DN_SCAN_MAX;
		return 0;
	}
	if ((w & 15) > 8)
		return word[OP_DN_BASE] + (w & ~15U) + (((w & 15) - 9) << 2);
	bits = op_dn_lowest(w);
	return word[OP_DN_BASE] + off + ((28 - bits) << 3) +
	       (((w >> (bits & 31) & 15) - 1) << 2);
}

/* Undo the unwind codes in runtime_bytes up to f->offset. Returns 0 or an error
 * number. */
static __always_inline __u32 op_dn_undo(struct op_unwind *u, struct op_dn_frame *f)
{
	__u64 count = op_dn_byte(u, OP_DN_UNWIND + 2);
	__u64 base = op_dn_byte(u, OP_DN_UNWIND + 3) >> 4;
	__u64 at = op_platform_zero(u);
	__u64 bad = 0;
	int i;

	for (i = 0; i < OP_DN_OPERATIONS; i++) {
		__u64 code = *(__u64 *)(u->runtime_bytes + ((OP_DN_UNWIND + 4 + at * 2) &
							    OP_DN_UNWIND_MASK));
		__u64 op = code >> 8 & 15;
		__u64 info = code >> 12 & 15;
		__u64 far = code >> 16 & 0xffffffff;
		__u64 live = op_dn_less(at, count);
		__u64 done = live & op_dn_less(code & 255, f->offset + 1);
		__u64 push = op_dn_is(op, OP_DN_PUSH);
		__u64 large = op_dn_is(op, OP_DN_ALLOC_LARGE);
		__u64 fp_far = op_dn_is(op, OP_DN_SET_FP_LARGE);
		__u64 save = op_dn_is(op, OP_DN_SAVE);
		__u64 size = op_dn_pick(push, 8, op_dn_pick(save, 0, info * 8 + 8));
		__u64 set = op_dn_pick(fp_far, far, base) * 16;

		size = op_dn_pick(large,
				  op_dn_pick(op_dn_is(info, 0), (far & 0xffff) * 8, far),
				  size);
		f->fp_at = op_dn_pick(done & push & op_dn_is(info, OP_DN_RBP), f->sp,
				      f->fp_at);
		f->sp = op_dn_pick(done,
				   op_dn_pick(fp_far | op_dn_is(op, OP_DN_SET_FP),
					      u->fp - set, f->sp + size),
				   f->sp);
		bad |= live & (~(OP_DN_KNOWN >> op) | (save & op_dn_is(info, OP_DN_RBP)));
		at += live + (live & (large | save)) +
		      (live & large & ~op_dn_is(info, 0)) + (live & fp_far) * 2;
	}
	bad = (bad & 1) | op_dn_less(at, count);
	return op_dn_pick(bad, OP_ERROR_dotnet_unwind_data, 0);
}

/* The code at the pc was read, and is a jump. Does it end an epilog: does the instruction
 * before it remove the frame? */
static __always_inline bool op_dn_ends(struct op_unwind *u)
{
	__u32 before = op_dn_half(u, OP_DN_EPILOG + 4);
	__u32 far = op_dn_half(u, OP_DN_EPILOG) >> 8;

	/* add rsp, n; pop */
	return (before & 0xffffff) == 0xc48348 || far == 0xc48148 ||
	       (before >> 24 & 0xf8) == 0x58;
}

/*
 * Is the interrupted pc in an epilog, with only pops ahead, and then a return or a jump?
 * Unwind data does not describe that. If so, undo the pops. Before an addition to sp the
 * unwind codes are still valid.
 */
static __always_inline bool op_dn_epilog(struct op_unwind *u, struct op_dn_frame *f)
{
	__u64 at = op_platform_zero(u) + OP_DN_BEFORE;
	__u64 live = 1;
	__u64 sp = u->sp;
	__u64 fp_at = 0;
	__u64 b;
	int i;

	if (op_platform_read(u, u->runtime_bytes + OP_DN_EPILOG, OP_DN_EPILOG_BYTES,
			     u->pc - OP_DN_BEFORE))
		return false;
	for (i = 0; i < OP_DN_POPS; i++) {
		__u64 far = op_dn_is(op_dn_byte(u, OP_DN_EPILOG + (__u32)at), 0x41);

		b = op_dn_byte(u, OP_DN_EPILOG + (__u32)(at + far));
		live &= op_dn_is(b & 0xf8, 0x58);
		fp_at = op_dn_pick(live & ~far & op_dn_is(b, 0x58 + OP_DN_RBP), sp,
				   fp_at);
		at += live + (live & far);
		sp += live * 8;
	}
	/* a prefix of the jump */
	at += op_dn_is(op_dn_byte(u, OP_DN_EPILOG + (__u32)at), 0x48);
	b = op_dn_byte(u, OP_DN_EPILOG + (__u32)at);
	live = op_dn_byte(u, OP_DN_EPILOG + (__u32)at + 1);
	if (b != 0xc3) {
		if (b != 0xe9 && (b != 0xff || (live & 0x38) != 0x20))
			return false;
		if (sp == u->sp && !op_dn_ends(u))
			return false;
	}
	f->sp = sp;
	f->fp_at = fp_at;
	return true;
}

/* Find the unwind data of the method's part that holds @look. The method's header, from
 * @header, is in runtime_bytes. Returns 0 or an error number. */
static __always_inline __u32 op_dn_find_unwind(struct op_unwind *u, __u64 header,
					       __u64 start, __u64 look)
{
	__u32 count = op_dn_half(u, OP_DN_RECORDS - 4);
	__u64 part = 0;
	__u64 base;
	__u64 off;
	__u32 i;

	op_platform_bound(count);
	if (!count || count > OP_DN_PARTS)
		return OP_ERROR_dotnet_unwind_data;
	if (op_platform_read(u, u->runtime_bytes, count * OP_DOTNET_UNWIND_BYTES,
			     header + OP_DOTNET_HEADER_UNWIND))
		return OP_ERROR_dotnet_read_method;
	/* the first record is the method's own; the address from which it counts differs
	 * between kinds of heaps */
	base = start - op_dn_half(u, 0);
	off = look - base;
	for (i = 0; i < OP_DN_PARTS; i++)
		part = op_dn_pick(
			op_dn_less(i, count) &
				op_dn_less(op_dn_half(u, i * OP_DOTNET_UNWIND_BYTES),
					   off + 1),
			i, part);
	part *= OP_DOTNET_UNWIND_BYTES;
	if (off < op_dn_half(u, (__u32)part) || off >= op_dn_half(u, (__u32)part + 4))
		return OP_ERROR_dotnet_no_method;
	op_state(u)->word[OP_DN_OFFSET] = u->pc - base - op_dn_half(u, (__u32)part);
	op_state(u)->word[OP_DN_DATA] = base + op_dn_half(u, (__u32)part + 8);
	return 0;
}

/* Push the pc's method, which begins at @start, and find its unwind data. @follow: first
 * push what awaits it. */
static __always_inline enum op_next op_dn_method(struct op_unwind *u, __u64 start,
						 __u64 look, bool follow)
{
	__u64 header = 0;
	__u32 error;

	if (op_platform_read(u, &header, sizeof(header), start - 8))
		return op_end(u, OP_ERROR_dotnet_read_method);
	if (header <= OP_DOTNET_STUB_MAX)
		return op_dn_stub(u);
	if (op_platform_read(u, u->runtime_bytes, OP_DN_RECORDS, header))
		return op_end(u, OP_ERROR_dotnet_read_method);
	if (follow && op_dn_await_begin(u, op_dn_word(u, 24)))
		return OP_NEXT_CONTINUE;
	op_push_word(u, op_runtime_word(u, OP_DOTNET_FRAME_WORDS, op_dn_word(u, 24)));
	op_push_word(u, (__u64)op_dotnet_guard(op_dn_word(u, 0), op_dn_word(u, 16),
					       op_dn_word(u, 24))
					<< 32 |
				(__u32)(look - start));
	op_push_word(u, start & OP_FRAME_ADDRESS_MASK);
	u->out.frames++;
	error = op_dn_find_unwind(u, header, start, look);
	return error ? op_end(u, error) : OP_NEXT_CONTINUE;
}

/* Read the unwind data at @at, and unwind the frame by it. Returns 0 or an error
 * number. */
static __always_inline __u32 op_dn_unwind(struct op_unwind *u, __u64 at,
					  struct op_dn_frame *f)
{
	__u32 error;
	__u32 bytes;

	if (op_platform_read(u, u->runtime_bytes, 4, at))
		return OP_ERROR_dotnet_read_method;
	bytes = op_dn_byte(u, 2) * 2;
	op_platform_bound(bytes);
	if ((op_dn_byte(u, 0) & 7) != 1 || bytes > OP_DN_CODES * 2)
		return OP_ERROR_dotnet_unwind_data;
	if (op_platform_read(u, u->runtime_bytes + 4, bytes, at + 4))
		return OP_ERROR_dotnet_read_method;
	error = op_dn_undo(u, f);
	if (u->exact && f->offset >= op_dn_byte(u, 1) && op_dn_epilog(u, f))
		error = 0;
	return error;
}

/* The method was pushed: go to its caller. */
static __always_inline enum op_next op_dn_caller(struct op_unwind *u)
{
	__u64 *word = op_state(u)->word;
	struct op_dn_frame f = { .sp = u->sp, .offset = word[OP_DN_OFFSET] };
	__u64 fp = u->fp;
	__u64 ra = 0;
	__u32 error = op_dn_unwind(u, word[OP_DN_DATA], &f);

	word[OP_DN_DATA] = 0;
	word[OP_DN_START] = 0;
	if (error)
		return op_end(u, error);
	if (f.sp < u->sp)
		return op_end(u, OP_ERROR_native_stuck);
	if (op_read_stack(u, f.sp, &ra) || (f.fp_at && op_read_stack(u, f.fp_at, &fp)))
		return op_end(u, OP_ERROR_dotnet_read_frame);
	u->fp = fp;
	return op_dn_go(u, ra, f.sp + 8);
}

/* Do one part of the way to the caller: find the heap, find the method in it, push the
 * method and find its unwind data, or unwind its frame. @follow: push what awaits a method
 * that was resumed. */
static __always_inline enum op_next op_step_dotnet(struct op_unwind *u, bool follow)
{
	__u64 *word = op_state(u)->word;
	__u64 look = u->pc - op_dn_is(u->exact, 0);

	if (!op_state(u)->ref)
		return op_end(u, OP_ERROR_dotnet_no_process);
	if (word[OP_DN_DATA])
		return op_dn_caller(u);
	if (follow && op_dn_is_awaiting(u))
		return op_dn_await(u);
	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	if (look - word[OP_DN_BEGIN] >= word[OP_DN_END] - word[OP_DN_BEGIN])
		return op_dn_find_heap(u, look) ? OP_NEXT_CONTINUE : op_dn_stub(u);
	if (word[OP_DN_START])
		return op_dn_method(u, word[OP_DN_START], look, follow);
	word[OP_DN_START] = op_dn_find_start(u, look);
	if (!word[OP_DN_START] && word[OP_DN_SCAN] >= OP_DN_SCAN_MAX)
		return op_dn_stub(u);
	return OP_NEXT_CONTINUE;
}

#endif
