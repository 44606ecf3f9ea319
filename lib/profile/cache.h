/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache from words to numbers in the open window: the words of a whole record lead to
 * its stack, those of an interpreted frame to its location. Only 128 bits of two seeded
 * hashes of the words are stored: the chance that two of a million stacks collide is
 * 1e-27.
 */
#ifndef OP_PROFILE_CACHE_H
#define OP_PROFILE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

struct op_cache_key {
	uint64_t hash[2];
};

struct op_cache_entry {
	struct op_cache_key key;
	uint32_t number; /* number in the window */
};

struct op_cache {
	uint64_t seed[2];
	size_t limit; /* entries; more are not added */
	uint32_t epoch;
	struct op_index index;
	OP_VEC(struct op_cache_entry) entries;
};

void op_cache_init(struct op_cache *m, size_t limit);
struct op_cache_key op_cache_key(const struct op_cache *m, const uint64_t *words,
				 size_t len);
/* Returns true and the number if the words of @key were added under @epoch. */
bool op_cache_find(struct op_cache *m, uint32_t epoch, const struct op_cache_key *key,
		   uint32_t *ret);
/* Store the number for @key, unless the limit is reached or there is no memory. */
void op_cache_add(struct op_cache *m, const struct op_cache_key *key, uint32_t number);
void op_cache_reset(struct op_cache *m, uint32_t epoch);
void op_cache_deinit(struct op_cache *m);

#endif
