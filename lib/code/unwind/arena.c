/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Free memory is an array of extents sorted by address, and the first that fits is
 * used. An extent never crosses a slab. For each power of two the allocator knows an
 * address below which no extent is that long, so it does not search small holes again
 * and again. Memory in its grace period waits in a queue. Each allocation also reserves
 * space in both arrays, so that a release cannot fail.
 */
#include "code/unwind/arena.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/macros.h"
#include "base/vec.h"

enum {
	GRANULE_BYTES = 1 << OP_REF_SHIFT,
	SLAB_GRANULES = OP_SLAB_BYTES / GRANULE_BYTES,
	CLASSES = 32, /* one for each power of two of an extent's length */
};

/* Granules [start, start + len), counted over all slabs. */
struct extent {
	uint32_t start;
	uint32_t len;
};

struct waiting {
	struct extent extent;
	uint64_t since_ns;
};

struct op_arena {
	struct op_arena_ops ops;
	void *ctx;
	void **slabs;	 /* [slabs_max]; NULL: not mapped */
	void *void_slab; /* used in place of a slab that cannot be mapped again */
	bool *gone;	 /* [slabs_max]; of the first slabs_len: it was given back */
	uint32_t slabs_len;
	uint32_t slabs_gone;
	uint32_t slabs_room; /* limit of slabs, from op_arena_set_limit() */
	uint32_t slabs_max;
	OP_VEC(struct extent) spare;
	uint32_t first[CLASSES];      /* no extent before it has 2^i granules or more */
	OP_VEC(struct waiting) queue; /* oldest first, from queue_head */
	size_t queue_head;
	size_t live; /* number of objects that are allocated */
	uint64_t used;
	uint64_t grace;
	uint64_t fence_ns;
	uint64_t failed;
	uint64_t map_failures;
};

int op_arena_new(const struct op_arena_ops *ops, void *ctx, uint64_t budget_bytes,
		 struct op_arena **ret)
{
	_cleanup_(op_arena_freep) struct op_arena *arena = NULL;
	uint64_t slabs = budget_bytes / OP_SLAB_BYTES;

	arena = calloc(1, sizeof(*arena));
	if (!arena)
		return -ENOMEM;
	arena->ops = *ops;
	arena->ctx = ctx;
	arena->fence_ns = UINT64_MAX;
	arena->slabs_max = (uint32_t)OP_MIN(OP_MAX(slabs, 1), OP_SLABS_MAX);
	arena->slabs_room = arena->slabs_max;
	arena->slabs = calloc(arena->slabs_max, sizeof(*arena->slabs));
	arena->gone = calloc(arena->slabs_max, sizeof(*arena->gone));
	if (!arena->slabs || !arena->gone)
		return -ENOMEM;
	*ret = OP_TAKE_PTR(arena);
	return 0;
}

struct op_arena *op_arena_free(struct op_arena *arena)
{
	if (!arena)
		return NULL;
	free(arena->slabs);
	free(arena->gone);
	if (arena->void_slab)
		(void)munmap(arena->void_slab, OP_SLAB_BYTES);
	op_vec_clear(&arena->spare);
	op_vec_clear(&arena->queue);
	free(arena);
	return NULL;
}

static uint32_t granules(size_t bytes)
{
	return (uint32_t)((bytes + GRANULE_BYTES - 1) >> OP_REF_SHIFT);
}

/* The index in `spare` of the first extent that starts after @start. */
static size_t spare_after(const struct op_arena *arena, uint32_t start)
{
	return op_first_where(i, arena->spare.len, arena->spare.data[i].start > start);
}

static bool touch(struct extent a, struct extent b)
{
	return a.start + a.len == b.start && b.start % SLAB_GRANULES != 0;
}

static unsigned int class_of(uint32_t len)
{
	return 31 - (unsigned int)__builtin_clz(len);
}

/* Note that @e is in `spare`. */
static void note_spare(struct op_arena *arena, const struct extent *e)
{
	unsigned int c = class_of(e->len) + 1;

	while (c--)
		arena->first[c] = OP_MIN(arena->first[c], e->start);
}

/* Add @extent to `spare`, which is not full, and join it with its neighbours. */
static void spare_add(struct op_arena *arena, struct extent extent)
{
	size_t i = spare_after(arena, extent.start);
	struct extent *e = arena->spare.data;
	bool before = i > 0 && touch(e[i - 1], extent);
	bool after = i < arena->spare.len && touch(extent, e[i]);

	if (before && after) {
		i--;
		e[i].len += extent.len + e[i + 1].len;
		memmove(&e[i + 1], &e[i + 2],
			(--arena->spare.len - (i + 1)) * sizeof(*e));
	} else if (before) {
		e[--i].len += extent.len;
	} else if (after) {
		e[i].start = extent.start;
		e[i].len += extent.len;
	} else {
		assert(arena->spare.len < arena->spare.cap);
		memmove(&e[i + 1], &e[i], (arena->spare.len++ - i) * sizeof(*e));
		e[i] = extent;
	}
	note_spare(arena, &e[i]);
}

/* Reserve space in both arrays for one more release than there are objects, and for one
 * more slab. */
static int reserve(struct op_arena *arena)
{
	size_t queued = arena->queue.len - arena->queue_head;

	if (op_vec_reserve(&arena->queue, arena->live + 1) < 0 ||
	    op_vec_reserve(&arena->spare, arena->live + queued + 2) < 0)
		return -ENOMEM;
	return 0;
}

/* The number of the next new slab. */
static uint32_t next_slab(const struct op_arena *arena)
{
	uint32_t i = 0;

	if (!arena->slabs_gone)
		return arena->slabs_len;
	while (!arena->gone[i])
		i++;
	return i;
}

static int add_slab(struct op_arena *arena)
{
	uint32_t index = next_slab(arena);
	struct extent all = { .start = index * SLAB_GRANULES, .len = SLAB_GRANULES };
	int r;

	if (arena->slabs_len - arena->slabs_gone >= arena->slabs_room) {
		arena->failed++;
		return -ENOSPC;
	}
	r = arena->ops.add_slab(arena->ctx, index, &arena->slabs[index]);
	if (r < 0)
		return r;
	if (index == arena->slabs_len)
		arena->slabs_len++;
	else
		arena->slabs_gone--;
	arena->gone[index] = false;
	if (index == 0) { /* reference 0 is "none" */
		all.start++;
		all.len--;
	}
	spare_add(arena, all);
	return 0;
}

/* The index of the first spare extent with @len granules or more; spare.len: there is
 * none. */
static size_t find(struct op_arena *arena, uint32_t len)
{
	unsigned int c = class_of(len);
	uint32_t start = arena->first[c];
	size_t i = start ? spare_after(arena, start - 1) : 0;
	uint32_t first = UINT32_MAX; /* start of the first extent of this class */

	for (; i < arena->spare.len && arena->spare.data[i].len < len; i++)
		if (first == UINT32_MAX && class_of(arena->spare.data[i].len) >= c)
			first = arena->spare.data[i].start;
	if (i < arena->spare.len)
		start = arena->spare.data[i].start;
	else
		start = UINT32_MAX;
	arena->first[c] = OP_MIN(first, start);
	for (c++; c < CLASSES; c++)
		arena->first[c] = OP_MAX(arena->first[c], start);
	return i;
}

/* Take @len granules from `spare`. Returns 0 if no extent is long enough. */
static op_ref take(struct op_arena *arena, uint32_t len)
{
	size_t i = find(arena, len);
	struct extent *e = &arena->spare.data[i];
	op_ref ref;

	if (i == arena->spare.len)
		return 0;
	ref = e->start;
	e->start += len;
	e->len -= len;
	if (!e->len)
		memmove(e, e + 1, (--arena->spare.len - i) * sizeof(*e));
	return ref;
}

/* The memory of the slab, which is mapped again if needed; or NULL. */
static void *slab(struct op_arena *arena, uint32_t index)
{
	if (!arena->slabs[index] &&
	    arena->ops.map_slab(arena->ctx, index, &arena->slabs[index]) < 0) {
		arena->slabs[index] = NULL;
		arena->map_failures++;
	}
	return arena->slabs[index];
}

int op_arena_alloc(struct op_arena *arena, size_t bytes, op_ref *ret_ref, void **ret)
{
	uint32_t len;
	op_ref ref;
	int r;

	assert(bytes > 0);
	if (bytes > OP_SLAB_BYTES)
		return -E2BIG;
	r = reserve(arena);
	if (r < 0)
		return r;
	len = granules(bytes);
	while (!(ref = take(arena, len))) {
		r = add_slab(arena);
		if (r < 0)
			return r;
		r = reserve(arena); /* the new slab has used an element */
		if (r < 0)
			return r;
	}
	if (!slab(arena, ref >> OP_REF_SLAB_SHIFT)) {
		spare_add(arena, (struct extent){ .start = ref, .len = len });
		return -ENOMEM;
	}
	arena->live++;
	arena->used += (uint64_t)len << OP_REF_SHIFT;
	*ret_ref = ref;
	*ret = op_arena_at(arena, ref);
	return 0;
}

uint64_t op_arena_room(const struct op_arena *arena)
{
	return (uint64_t)arena->slabs_room * OP_SLAB_BYTES;
}

bool op_arena_in_half(const struct op_arena *arena, size_t bytes)
{
	return arena->used + arena->grace + bytes <= op_arena_room(arena) / 2;
}

void op_arena_release(struct op_arena *arena, op_ref ref, size_t bytes, uint64_t now_ns)
{
	uint64_t size = (uint64_t)granules(bytes) << OP_REF_SHIFT;

	if (!ref)
		return;
	assert(arena->live > 0 && arena->used >= size);
	if (!now_ns) {
		spare_add(arena, (struct extent){ .start = ref, .len = granules(bytes) });
		arena->live--;
		arena->used -= size;
		return;
	}
	if (arena->ops.clock_ns)
		now_ns = OP_MAX(now_ns, arena->ops.clock_ns(arena->ctx));
	assert(arena->queue.len < arena->queue.cap);
	arena->queue.data[arena->queue.len++] = (struct waiting){
		.extent = { .start = ref, .len = granules(bytes) },
		.since_ns = now_ns,
	};
	arena->live--;
	arena->used -= size;
	arena->grace += size;
}

const void *op_arena_slab(struct op_arena *arena, uint32_t index)
{
	return index < arena->slabs_len && !arena->gone[index] ? slab(arena, index)
							       : NULL;
}

void *op_arena_at(struct op_arena *arena, op_ref ref)
{
	uint32_t index = ref >> OP_REF_SLAB_SHIFT;
	char *start;

	assert(ref && index < arena->slabs_len && !arena->gone[index]);
	start = slab(arena, index) ?: arena->void_slab;
	return start + ((size_t)(ref % SLAB_GRANULES) << OP_REF_SHIFT);
}

/* Made in advance. Pages of a mapping that nobody touches take no memory, which is not
 * certain for malloc(). */
static void *map_void_slab(void)
{
	void *memory = mmap(NULL, OP_SLAB_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void op_arena_rest(struct op_arena *arena)
{
	uint32_t i;

	if (!arena->ops.unmap_slab)
		return;
	if (!arena->void_slab)
		arena->void_slab = map_void_slab();
	for (i = 0; arena->void_slab && i < arena->slabs_len; i++)
		if (arena->slabs[i] && arena->ops.unmap_slab(arena->ctx, i) == 0)
			arena->slabs[i] = NULL;
}

void op_arena_set_limit(struct op_arena *arena, uint64_t bytes)
{
	arena->slabs_room = (uint32_t)OP_MIN(OP_MAX(bytes / OP_SLAB_BYTES, UINT64_C(1)),
					     (uint64_t)arena->slabs_max);
}

uint64_t op_arena_give_back(struct op_arena *arena, uint64_t bytes)
{
	uint64_t given = 0;
	size_t i;

	if (!arena->ops.remove_slab)
		return 0;
	/* Low addresses are used first, so the last slabs stay empty longest. The first one
	 * has reference 0 and is never an extent as long as a slab. */
	for (i = arena->spare.len; i > 0 && given < bytes; i--) {
		struct extent *e = &arena->spare.data[i - 1];
		uint32_t index = e->start / SLAB_GRANULES;

		if (e->len < SLAB_GRANULES ||
		    arena->ops.remove_slab(arena->ctx, index) < 0)
			continue;
		arena->slabs[index] = NULL;
		arena->gone[index] = true;
		arena->slabs_gone++;
		memmove(e, e + 1, (--arena->spare.len - (i - 1)) * sizeof(*e));
		given += OP_SLAB_BYTES;
	}
	return given;
}

void op_arena_set_fence(struct op_arena *arena, uint64_t ns)
{
	arena->fence_ns = ns;
}

void op_arena_reclaim(struct op_arena *arena, uint64_t now_ns)
{
	while (arena->queue_head < arena->queue.len) {
		struct waiting *w = &arena->queue.data[arena->queue_head];

		if (now_ns < w->since_ns || now_ns - w->since_ns < OP_ARENA_GRACE_NS ||
		    (w->since_ns > arena->fence_ns &&
		     now_ns - w->since_ns < OP_ARENA_FENCE_NS_MAX))
			break;
		spare_add(arena, w->extent);
		arena->grace -= (uint64_t)w->extent.len << OP_REF_SHIFT;
		arena->queue_head++;
	}
	if (arena->queue_head > arena->queue.len / 2) {
		arena->queue.len -= arena->queue_head;
		memmove(arena->queue.data, arena->queue.data + arena->queue_head,
			arena->queue.len * sizeof(*arena->queue.data));
		arena->queue_head = 0;
	}
}

void op_arena_get_stats(const struct op_arena *arena, struct op_arena_stats *ret)
{
	uint64_t unmapped = 0;
	uint32_t i;

	for (i = 0; i < arena->slabs_len; i++)
		unmapped += arena->slabs[i] || arena->gone[i] ? 0 : OP_SLAB_BYTES;
	*ret = (struct op_arena_stats){
		.used_bytes = arena->used,
		.grace_bytes = arena->grace,
		.slab_bytes =
			(uint64_t)(arena->slabs_len - arena->slabs_gone) * OP_SLAB_BYTES,
		.limit_bytes = (uint64_t)arena->slabs_max * OP_SLAB_BYTES,
		.room_bytes = (uint64_t)arena->slabs_room * OP_SLAB_BYTES,
		.failed = arena->failed,
		.unmapped_bytes = unmapped,
		.map_failures = arena->map_failures,
	};
}
