/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locations of the last stack of a few threads. The next stack of a thread mostly
 * differs only near its leaf. From the first common caller on, no location is looked up
 * again.
 */
#ifndef OP_SAMPLE_KEPT_THREAD_CACHE_H
#define OP_SAMPLE_KEPT_THREAD_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum {
	OP_THREAD_CACHE_SLOTS = 16
};

/* Words have the same meaning only within one epoch of the window, one generation and one
 * thread. */
struct op_thread_cache_owner {
	uint32_t epoch;
	uint32_t generation; /* never 0 */
	uint32_t tid;
};

/* The stack of one thread, outermost word first, so that the common part keeps its
 * indices. */
struct op_thread_cache {
	struct op_thread_cache_owner owner;
	OP_VEC(uint64_t) words;
	OP_VEC(uint32_t)
	locations;     /* location of the frame that begins with the word; 0: none */
	size_t shared; /* number of outermost words in common with the previous stack */
};

/* Begin the stack of @owner with words @words[@len], leaf first. Returns the cache of its
 * thread, or NULL without memory. */
struct op_thread_cache *
op_thread_cache_begin(struct op_thread_cache slots[OP_THREAD_CACHE_SLOTS],
		      const struct op_thread_cache_owner *owner, const uint64_t *words,
		      size_t len);
/* Copy the locations of the outermost @left words to @ret, if they are known. Returns
 * their number, or 0. */
size_t op_thread_cache_rest(const struct op_thread_cache *c, size_t left, uint32_t *ret);
/* Set the location of the frame whose words are the first @used of the outermost @left. */
void op_thread_cache_keep(struct op_thread_cache *c, size_t left, size_t used,
			  uint32_t location);
/* Forget the stack of this thread, because not all of its locations were set. */
void op_thread_cache_forget(struct op_thread_cache *c);
void op_thread_cache_deinit(struct op_thread_cache slots[OP_THREAD_CACHE_SLOTS]);

#endif
