/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena: the kernel memory that user space writes and the programs read (layout:
 * bpf/include/op_arena.h). This allocator divides slabs of 1 MiB, which are made on
 * demand within one budget. An object never crosses a slab. Freed memory is allocated
 * again only OP_ARENA_GRACE_NS after its release, when no program can still be reading
 * it. A slab of which nothing is in use can be given back.
 *
 * Not thread-safe: one thread owns an arena.
 */
#ifndef OP_CODE_UNWIND_ARENA_H
#define OP_CODE_UNWIND_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "kernel/slabs.h"
#include "op_user_types.h"

/* Longer than any program runs: a sample is taken in interrupt context. */
#define OP_ARENA_GRACE_NS UINT64_C(1000000000)
/* A fence keeps memory for so long at most, however late events are. */
#define OP_ARENA_FENCE_NS_MAX UINT64_C(10000000000)

struct op_arena;

struct op_arena_stats {
	uint64_t used_bytes;  /* in allocated objects */
	uint64_t grace_bytes; /* freed, and in the grace period */
	uint64_t slab_bytes;  /* of all existing slabs */
	uint64_t limit_bytes;
	uint64_t room_bytes;	 /* current limit, from op_arena_set_limit() */
	uint64_t failed;	 /* allocations refused because of the budget */
	uint64_t unmapped_bytes; /* of slabs that are unmapped at present */
	uint64_t map_failures;	 /* accesses to a slab that could not be mapped again */
};

/* @budget_bytes is rounded down to whole slabs, at least one. Copies @ops. */
int op_arena_new(const struct op_arena_ops *ops, void *ctx, uint64_t budget_bytes,
		 struct op_arena **ret);
struct op_arena *op_arena_free(struct op_arena *arena);
OP_DEFINE_CLEANUP(struct op_arena *, op_arena_free)

/* Allocate @bytes (1 to OP_SLAB_BYTES), aligned to 8, with undefined content. Returns 0;
 * -ENOSPC past the budget; -E2BIG for more than a slab; or the error of add_slab. */
int op_arena_alloc(struct op_arena *arena, size_t bytes, op_ref *ret_ref, void **ret);
/* The largest size of the arena, in bytes. */
uint64_t op_arena_room(const struct op_arena *arena);
/* Is at most half of op_arena_room() used with @bytes more? Blocks in their grace period
 * count. */
bool op_arena_in_half(const struct op_arena *arena, size_t bytes);
/*
 * Release an object of op_arena_alloc() with the same @bytes. @ref 0 does nothing.
 * @now_ns is CLOCK_MONOTONIC and may lag, as the time of a batch does: the grace period
 * begins at the time of clock_ns then. 0: the object was never published and needs no
 * grace period.
 */
void op_arena_release(struct op_arena *arena, op_ref ref, size_t bytes, uint64_t now_ns);
/* The memory of slab @index; NULL if it was not made or cannot be mapped. */
const void *op_arena_slab(struct op_arena *arena, uint32_t index);
/* The address at which @ref is mapped, valid until op_arena_rest(). If its slab cannot be
 * mapped again, the memory there is zero and what is written to it is lost. */
void *op_arena_at(struct op_arena *arena, op_ref ref);
/* Unmap all slabs until they are needed again, so that they do not count in this
 * process's RSS meanwhile. All addresses returned before become invalid. */
void op_arena_rest(struct op_arena *arena);
/* Memory that was released after @ns stays as it is for OP_ARENA_FENCE_NS_MAX at most: something
 * may still lead to it. At first nothing does. */
void op_arena_set_fence(struct op_arena *arena, uint64_t ns);
/* Make memory whose grace period is over available again. */
void op_arena_reclaim(struct op_arena *arena, uint64_t now_ns);
/* Make no slab from here on that would bring all slabs above @bytes. The budget still
 * limits them, too. */
void op_arena_set_limit(struct op_arena *arena, uint64_t bytes);
/* Give back slabs without used memory or memory in its grace period: @bytes of them, or
 * up to a slab more. Returns how many bytes. */
uint64_t op_arena_give_back(struct op_arena *arena, uint64_t bytes);
void op_arena_get_stats(const struct op_arena *arena, struct op_arena_stats *ret);

#endif
