/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What words stand for in the open window: those of a whole record for a stack, those of
 * an interpreted frame for a location. The words themselves are not kept but 128 bits of
 * two seeded hashes of them: a million stacks of a window share them by a chance of 1e-27.
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
	uint32_t number; /* of the window */
};

struct op_cache {
	uint64_t seed[2];
	size_t limit; /* entries; more are not kept */
	uint32_t epoch;
	struct op_index index;
	OP_VEC(struct op_cache_entry) entries;
};

void op_cache_init(struct op_cache *m, size_t limit);
struct op_cache_key op_cache_key(const struct op_cache *m, const uint64_t *words,
				 size_t len);
/* Returns true and their number where the words of @key were met under @epoch. */
bool op_cache_find(struct op_cache *m, uint32_t epoch, const struct op_cache_key *key,
		   uint32_t *ret);
/* Keep what they stand for; past the limit or without memory it is left out. */
void op_cache_add(struct op_cache *m, const struct op_cache_key *key, uint32_t number);
void op_cache_reset(struct op_cache *m, uint32_t epoch);
void op_cache_deinit(struct op_cache *m);

#endif
