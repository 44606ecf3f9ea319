/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel interface of the walk's steps. lib/code/unwind/host/ has the same
 * functions for user space.
 */
#ifndef OP_PLATFORM_H
#define OP_PLATFORM_H

#include "bpf/platform/maps.h"

/* Hide the origin of @x from the compiler. It then keeps the bounds check that follows,
 * and the verifier sees that check on the register that is used. */
#define op_platform_bound(x) asm volatile("" : "+r"(x))

/* A zero that the verifier does not know. If a loop begins at a known number, its counter
 * has a different range on each path, and the verifier follows every path to the end. */
static __always_inline __u64 op_platform_zero(struct op_unwind *u)
{
	return *(volatile __u64 *)&u->platform;
}

/* The slab with number @index, OP_SLAB_BYTES long, or NULL. */
static __always_inline const __u8 *op_platform_slab(struct op_unwind *u, __u32 index)
{
	__u32 zero = 0;
	void *inner = bpf_map_lookup_elem(&op_slabs, &index);

	return inner ? bpf_map_lookup_elem(inner, &zero) : NULL;
}

/* event/slot.h */
__u64 op_arena_word(op_ref ref, __u32 offset);

/* op_arena_u64(), for what most frames do not need: the verifier checks it once. */
static __always_inline __u64 op_platform_arena(struct op_unwind *u, op_ref ref,
					       __u32 offset)
{
	return op_arena_word(ref, offset);
}

static __always_inline const struct op_unwind_rule *op_platform_rule(struct op_unwind *u,
								     __u32 index)
{
	return bpf_map_lookup_elem(&op_rules, &index);
}

/*
 * The rule at @pc in a mapping whose table is not made. Only user space can compute
 * one.
 */
static __always_inline bool op_platform_direct_rule(struct op_unwind *u, __u64 pc,
						    struct op_unwind_rule *ret)
{
	return false;
}

static __always_inline long op_platform_read(struct op_unwind *u, void *to, __u32 len,
					     __u64 addr)
{
	return bpf_probe_read_user(to, len, (const void *)addr);
}

/* The same for a stack, which changes while the thread runs. */
static __always_inline long op_platform_read_stack(struct op_unwind *u, void *to,
						   __u32 len, __u64 addr)
{
	return op_platform_read(u, to, len, addr);
}

/* The same for a runtime's chain of frames, which is in the heap. */
static __always_inline long op_platform_read_chain(struct op_unwind *u, void *to,
						   __u32 len, __u64 addr)
{
	return op_platform_read(u, to, len, addr);
}

/* Was it kept, for a walk after the process went on? */
static __always_inline bool op_platform_has_chain(const struct op_unwind *u)
{
	return false;
}

static __always_inline __u64 *op_platform_words(struct op_unwind *u)
{
	return ((struct op_slot *)((char *)u -
				   __builtin_offsetof(struct op_slot, unwind)))
		->word;
}

static __always_inline struct op_slot *op_platform_slot(struct op_unwind *u)
{
	return (struct op_slot *)((char *)u - __builtin_offsetof(struct op_slot, unwind));
}

/* event/object.h */
int op_object_look(__u32 number, __u64 word);
int op_object_met(__u32 number, __u32 recipe, __u64 word, __u32 check, __u32 is_short);
int op_object_php_text(__u64 addr);

/* Identity of the text of PHP's string at @addr; 0: there is none. */
static __always_inline __u32 op_platform_php_text(struct op_unwind *u, __u64 addr)
{
	return (__u32)op_object_php_text(addr);
}

/*
 * The object that the frame with the first word @word names is old, and was read a
 * short time ago. So it is not read again. One frame of sixteen, by chance, reads it all
 * the same, because its memory may be another's by now. *@ret: the high half of its
 * identity.
 */
static __always_inline bool op_platform_object_known(struct op_unwind *u, __u64 word,
						     __u32 *ret)
{
	struct op_slot *slot = op_platform_slot(u);
	struct op_object_known *known;
	__u64 stale;
	__u64 again;

	if (!op_settings.objects)
		return false;
	known = op_object_entry(slot, word, &stale);
	/* no branch of its own, which the verifier would follow */
	again = (((slot->record.time_ns >> 10 ^ known->key >> 8) & 15) - 1) >> 63;
	if ((stale | (~known->key & 1) | again) && !op_object_look(slot->number, word))
		return false;
	*ret = known->check;
	return true;
}

/*
 * The object that a frame names was read, and has the identity @check. Send the data
 * that names it, unless that was done. @recipe: where the runtime's struct describes
 * that data. @is_short: objects of this kind do not live long.
 */
static __always_inline void op_platform_object(struct op_unwind *u, __u32 recipe,
					       __u64 word, __u32 check, bool is_short)
{
	if (op_settings.objects)
		(void)op_object_met(op_platform_slot(u)->number, recipe, word, check,
				    is_short);
}

/* Copy @count words of the stack from the one at @from to the one at @to; both have space
 * for a quarter of OP_FRAMES_MAX. They do not overlap. */
static __always_inline void op_platform_move(struct op_unwind *u, __u32 to, __u32 from,
					     __u32 count)
{
	__u64 *words = op_platform_words(u);

	bpf_probe_read_kernel(words + to, count * sizeof(*words), words + from);
}

#endif
