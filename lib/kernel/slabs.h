/* SPDX-License-Identifier: Apache-2.0 */
/* How an arena gets its slabs. The driver makes them in the kernel, tests make them in
 * plain memory. */
#ifndef OP_KERNEL_SLABS_H
#define OP_KERNEL_SLABS_H

#include <stdint.h>

struct op_arena_ops {
	/*
	 * Make slab @index and map it: *@ret has OP_SLAB_BYTES of zeroes. The mapping
	 * stays until the arena is freed, and then its maker releases it. Returns 0 or
	 * -errno.
	 */
	int (*add_slab)(void *ctx, uint32_t index, void **ret);
	/* Both or neither is given. Unmap slab @index: returns 0, or -errno if it stays
	 * mapped. Map it again with its contents. */
	int (*unmap_slab)(void *ctx, uint32_t index);
	int (*map_slab)(void *ctx, uint32_t index, void **ret);
	/* Unmap and delete slab @index, which is unused. add_slab gets its number
	 * again. Returns 0, or -errno if it stays. May be NULL. */
	int (*remove_slab)(void *ctx, uint32_t index);
	/* The current time (CLOCK_MONOTONIC). NULL: the times that callers give are
	 * current. */
	uint64_t (*clock_ns)(void *ctx);
};

#endif
