/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the mapping of a pc, for the native step and for the guess. */
#ifndef OP_FIND_H
#define OP_FIND_H

#include "bpf/walk/unwind.h"

enum {
	OP_MAPPINGS_STEPS = 14,	 /* 1 << 14 == OP_MAPPINGS_MAX */
	OP_PAGE_ROWS_STEPS = 16, /* 1 << 16 == OP_PAGE_ROWS_MAX */
	OP_PC_MIN = 4096,
};

#if defined(__TARGET_ARCH_x86)
#include "bpf/walk/arch_x86_64.h"
#elif defined(__TARGET_ARCH_arm64)
#include "bpf/walk/arch_aarch64.h"
#else
#error "no such architecture"
#endif

_Static_assert(1 << OP_MAPPINGS_STEPS == OP_MAPPINGS_MAX, "the search reaches all");

/*
 * One step of a binary search over `left` sorted items that begin at `found`: it keeps
 * the half with the last item below @limit. It branches on the comparison, so that a
 * processor predicts the branch and loads the next item before this one was compared.
 * Without the branch each load would wait for the previous one (figures:
 * docs/architecture.md). It reads only the items.
 */
#define OP_SEARCH_STEP(found, left, item, limit)                                         \
	({                                                                               \
		__u64 half = (left) >> 1;                                                \
		__u64 at = (found) + half;                                               \
                                                                                         \
		if ((__u64)(item) < (limit))                                             \
			(found) = at;                                                    \
		(left) -= half;                                                          \
	})

/*
 * The flags of a mapping, from what was found of its mark. If its file is still mapped,
 * nothing has to be checked. If another file is, its table must be made first. Without
 * branches, each of which the verifier would follow.
 */
static __always_inline __u32 op_flags_now(const struct op_unwind *u, __u32 flags)
{
	__u32 number = flags >> OP_MAPPING_MARK_SHIFT & OP_MAPPING_MARK_MASK;

	return flags ^ (__u32)(u->marks >> number * OP_MARK_BITS & OP_MARK_SEEN_MASK)
			       << OP_MARK_SEEN_SHIFT;
}

/* Set u's mapping to the one that contains @pc. Returns 0 or an error. */
static __always_inline __u32 op_find_mapping(struct op_unwind *u, __u64 pc)
{
	const __u8 *slab;
	__u32 count = u->process.mapping_count;
	__u32 base = (u->process.starts << OP_REF_SHIFT) & (OP_SLAB_BYTES - 1);
	__u64 left = count;
	__u64 found = op_platform_zero(u);
	__u64 last;
	int i;

	if (pc >= u->map.start && pc < u->map.end)
		return 0;
	slab = op_platform_slab(u, u->process.starts >> OP_REF_SLAB_SHIFT);
	if (!slab || !count)
		return OP_ERROR_native_no_mapping;
	/* Find the last start that is not above pc. starts[0] is not compared; the range
	 * test below checks the result. */
	for (i = 0; i < OP_MAPPINGS_STEPS && left > 1; i++)
		OP_SEARCH_STEP(found, left, op_slab_u64(slab, base, (__u32)at), pc + 1);
	u->map.start = op_slab_u64(slab, base, (__u32)found);
	slab = op_platform_slab(u, u->process.mappings >> OP_REF_SLAB_SHIFT);
	if (!slab)
		return OP_ERROR_native_bad_slab;
	base = (u->process.mappings << OP_REF_SHIFT) & (OP_SLAB_BYTES - 1);
	found *= sizeof(struct op_arena_mapping) / 8;
	u->map.end = op_slab_u64(slab, base, (__u32)found);
	u->map.bias = op_slab_u64(slab, base, (__u32)found + 1);
	last = op_slab_u64(slab, base, (__u32)found + 2); /* segment | flags << 32 */
	u->map.segment = (op_ref)last;
	u->map.flags = op_flags_now(u, (__u32)(last >> 32));
	if (pc < u->map.start || pc >= u->map.end) {
		u->map.start = u->map.end = 0;
		return OP_ERROR_native_no_mapping;
	}
	return 0;
}

#endif
