/* SPDX-License-Identifier: Apache-2.0 */
/* A map from the hash of words to a number. It is emptied at the end of a window. */
#include "profile/cache.h"

static bool equal(const void *elements, uint32_t i, const void *key)
{
	const struct op_cache_entry *e = (const struct op_cache_entry *)elements + i;
	const struct op_cache_key *k = key;

	return e->key.hash[0] == k->hash[0] && e->key.hash[1] == k->hash[1];
}

void op_cache_init(struct op_cache *m, size_t limit)
{
	*m = (struct op_cache){ .seed = { op_hash_seed(), op_hash_seed() },
				.limit = limit };
}

struct op_cache_key op_cache_key(const struct op_cache *m, const uint64_t *words,
				 size_t len)
{
	size_t bytes = len * sizeof(*words);

	return (struct op_cache_key){ .hash = {
					      op_hash_bytes(words, bytes, m->seed[0]),
					      op_hash_bytes(words, bytes, m->seed[1]),
				      } };
}

bool op_cache_find(struct op_cache *m, uint32_t epoch, const struct op_cache_key *key,
		   uint32_t *ret)
{
	uint32_t i;

	if (m->epoch != epoch) {
		op_cache_reset(m, epoch);
		return false;
	}
	i = op_index_find(&m->index, (uint32_t)key->hash[0], m->entries.data, key, equal);
	if (i == UINT32_MAX)
		return false;
	*ret = m->entries.data[i].number;
	return true;
}

void op_cache_add(struct op_cache *m, const struct op_cache_key *key, uint32_t number)
{
	struct op_cache_entry *e;

	if (m->entries.len >= m->limit)
		return;
	e = op_vec_push(&m->entries);
	if (!e)
		return;
	*e = (struct op_cache_entry){ .key = *key, .number = number };
	if (op_index_add(&m->index, (uint32_t)key->hash[0],
			 (uint32_t)m->entries.len - 1) < 0)
		m->entries.len--;
}

void op_cache_reset(struct op_cache *m, uint32_t epoch)
{
	op_index_reset(&m->index);
	m->entries.len = 0;
	m->epoch = epoch;
}

void op_cache_deinit(struct op_cache *m)
{
	op_index_clear(&m->index);
	op_vec_clear(&m->entries);
}
