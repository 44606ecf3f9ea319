/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locations of the last stack of a few threads. A thread's next stack mostly differs near
 * its leaf alone: from the first caller on that both have, nothing is looked up again.
 */
#ifndef OP_SAMPLE_THREAD_CACHE_H
#define OP_SAMPLE_THREAD_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum {
	OP_THREAD_CACHE_SLOTS = 16
};

/* In what words mean the same: numbers of a window, a generation, a thread. */
struct op_thread_cache_owner {
	uint32_t epoch;
	uint32_t generation; /* never 0 */
	uint32_t tid;
};

/* Of one thread, outermost word first, so that what is shared stays in its place. */
struct op_thread_cache {
	struct op_thread_cache_owner owner;
	OP_VEC(uint64_t) words;
	OP_VEC(uint32_t)
	locations;     /* of the frame that begins with the word; 0: none does */
	size_t shared; /* outermost words that are those of the stack before */
};

/* Begin @owner's stack of @words, leaf first. Returns its thread's, or NULL without memory. */
struct op_thread_cache *
op_thread_cache_begin(struct op_thread_cache slots[OP_THREAD_CACHE_SLOTS],
		      const struct op_thread_cache_owner *owner, const uint64_t *words,
		      size_t len);
/* The locations of the last @left words, if they are known: to @ret, how many. */
size_t op_thread_cache_rest(const struct op_thread_cache *c, size_t left, uint32_t *ret);
/* The frame of the first @used of the last @left words has this location. */
void op_thread_cache_keep(struct op_thread_cache *c, size_t left, size_t used,
			  uint32_t location);
/* Nothing is known of this thread's stacks: not all locations were kept. */
void op_thread_cache_forget(struct op_thread_cache *c);
void op_thread_cache_deinit(struct op_thread_cache slots[OP_THREAD_CACHE_SLOTS]);

#endif
