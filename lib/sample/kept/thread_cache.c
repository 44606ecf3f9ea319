/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/kept/thread_cache.h"

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"

static bool same(const struct op_thread_cache_owner *a,
		 const struct op_thread_cache_owner *b)
{
	return a->epoch == b->epoch && a->generation == b->generation && a->tid == b->tid;
}

struct op_thread_cache *
op_thread_cache_begin(struct op_thread_cache slots[OP_THREAD_CACHE_SLOTS],
		      const struct op_thread_cache_owner *owner, const uint64_t *words,
		      size_t len)
{
	struct op_thread_cache *c =
		&slots[op_hash_u64(owner->tid) % OP_THREAD_CACHE_SLOTS];
	size_t before = same(&c->owner, owner) ? c->words.len : 0;
	size_t i;

	c->shared = 0;
	c->words.len = c->locations.len = 0;
	if (op_vec_reserve(&c->words, len) < 0 || op_vec_reserve(&c->locations, len) < 0)
		return NULL;
	while (c->shared < before && c->shared < len &&
	       c->words.data[c->shared] == words[len - 1 - c->shared])
		c->shared++;
	for (i = c->shared; i < len; i++)
		c->words.data[i] = words[len - 1 - i];
	if (len > c->shared)
		memset(c->locations.data + c->shared, 0,
		       (len - c->shared) * sizeof(*c->locations.data));
	c->words.len = c->locations.len = len;
	c->owner = *owner;
	return c;
}

size_t op_thread_cache_rest(const struct op_thread_cache *c, size_t left, uint32_t *ret)
{
	size_t n = 0;

	if (left > c->shared || !c->locations.data[left - 1])
		return 0;
	while (left--)
		if (c->locations.data[left])
			ret[n++] = c->locations.data[left];
	return n;
}

void op_thread_cache_keep(struct op_thread_cache *c, size_t left, size_t used,
			  uint32_t location)
{
	memset(c->locations.data + (left - used), 0, used * sizeof(*c->locations.data));
	c->locations.data[left - 1] = location;
}

void op_thread_cache_forget(struct op_thread_cache *c)
{
	c->words.len = c->locations.len = 0;
	c->shared = 0;
}

void op_thread_cache_deinit(struct op_thread_cache slots[OP_THREAD_CACHE_SLOTS])
{
	size_t i;

	for (i = 0; i < OP_THREAD_CACHE_SLOTS; i++) {
		op_vec_clear(&slots[i].words);
		op_vec_clear(&slots[i].locations);
	}
}
