/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena: the kernel memory that user space writes and the programs read (layout:
 * bpf/include/op_types.h). This allocator cuts 1 MiB slabs, made on demand within one
 * budget. An object never crosses a slab. Freed memory is given out again only
 * OP_ARENA_GRACE_NS after its release, when no program can still be reading it; slabs are
 * never deleted while the handle lives.
 *
 * Not thread-safe: one thread owns an arena.
 */
#ifndef OP_UNWIND_ARENA_H
#define OP_UNWIND_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "op_user_types.h"

/* Longer than any program runs: a sample is taken in interrupt context. */
#define OP_ARENA_GRACE_NS UINT64_C(1000000000)

struct op_arena;

struct op_arena_ops {
	/* Make slab number @index and map it: OP_SLAB_BYTES of zeroes in *@ret, which stay
	 * until the arena is freed and are then released by the maker. 0 or -errno. */
	int (*add_slab)(void *ctx, uint32_t index, void **ret);
	/* Both or none. Take the mapping of slab @index away: 0, or -errno where it stays;
	 * and map it again, with its content. */
	int (*unmap_slab)(void *ctx, uint32_t index);
	int (*map_slab)(void *ctx, uint32_t index, void **ret);
	/* CLOCK_MONOTONIC at this moment; NULL: callers' times do not lag behind it. */
	uint64_t (*clock_ns)(void *ctx);
};

struct op_arena_stats {
	uint64_t used_bytes;  /* in live objects */
	uint64_t grace_bytes; /* freed, waiting */
	uint64_t slab_bytes;  /* of slabs made */
	uint64_t limit_bytes;
	uint64_t failed;	 /* allocations refused for the budget */
	uint64_t unmapped_bytes; /* of slabs, resting */
	uint64_t map_failures;	 /* accesses to a slab that could not be mapped again */
};

/* @budget_bytes is rounded down to slabs, at least one. Copies @ops. */
int op_arena_new(const struct op_arena_ops *ops, void *ctx, uint64_t budget_bytes,
		 struct op_arena **ret);
struct op_arena *op_arena_free(struct op_arena *arena);
OP_DEFINE_CLEANUP(struct op_arena *, op_arena_free)

/*
 * @bytes (1 to OP_SLAB_BYTES), aligned to 8, content undefined. Returns 0; -ENOSPC past
 * the budget; -E2BIG for more than a slab; the error of add_slab.
 */
int op_arena_alloc(struct op_arena *arena, size_t bytes, op_ref *ret_ref, void **ret);
/* Release what op_arena_alloc() gave with the same @bytes. @ref 0 does nothing. @now_ns is
 * CLOCK_MONOTONIC, which may lag (a batch takes its time from its beginning): the grace
 * counts from this moment by clock_ns; 0: it was never published, and needs no grace. */
void op_arena_release(struct op_arena *arena, op_ref ref, size_t bytes, uint64_t now_ns);
/* Slab number @index, or NULL where it was not made or cannot be mapped. */
const void *op_arena_slab(struct op_arena *arena, uint32_t index);
/*
 * Where @ref is mapped, until op_arena_rest(). Where its slab cannot be mapped again:
 * zeroes, and what is written there goes nowhere.
 */
void *op_arena_at(struct op_arena *arena, op_ref ref);
/* Unmap all slabs until they are needed again: in between they are the kernel's alone, not
 * in this process's RSS. Every address given out before is invalid. */
void op_arena_rest(struct op_arena *arena);
/* Let memory whose grace is over be given out again. */
void op_arena_reclaim(struct op_arena *arena, uint64_t now_ns);
void op_arena_get_stats(const struct op_arena *arena, struct op_arena_stats *ret);

#endif
