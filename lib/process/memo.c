/* SPDX-License-Identifier: Apache-2.0 */
#include "process/memo.h"

#include <string.h>

#include "base/macros.h"

struct key {
	const struct op_memo *memo;
	const uint64_t *words;
	size_t len;
};

static bool equal(const void *elements, uint32_t i, const void *key)
{
	const struct op_memo_entry *e = (const struct op_memo_entry *)elements + i;
	const struct key *k = key;

	return e->len == k->len && memcmp(k->memo->words.data + e->first, k->words,
					  k->len * sizeof(*k->words)) == 0;
}

void op_memo_init(struct op_memo *m, size_t words_max)
{
	*m = (struct op_memo){ .seed = op_hash_seed(), .words_max = words_max };
}

uint32_t op_memo_hash(const struct op_memo *m, const uint64_t *words, size_t len)
{
	return (uint32_t)op_hash_bytes(words, len * sizeof(*words), m->seed);
}

bool op_memo_find(struct op_memo *m, uint32_t epoch, uint32_t hash, const uint64_t *words,
		  size_t len, uint32_t *ret)
{
	struct key key = { .memo = m, .words = words, .len = len };
	uint32_t i;

	if (m->epoch != epoch) {
		op_memo_reset(m, epoch);
		return false;
	}
	i = op_index_find(&m->index, hash, m->entries.data, &key, equal);
	if (i == UINT32_MAX)
		return false;
	*ret = m->entries.data[i].number;
	return true;
}

void op_memo_add(struct op_memo *m, uint32_t hash, const uint64_t *words, size_t len,
		 uint32_t number)
{
	struct op_memo_entry *e;

	if (m->words.len + len > m->words_max || op_vec_reserve(&m->words, len) < 0)
		return;
	e = op_vec_push(&m->entries);
	if (!e)
		return;
	*e = (struct op_memo_entry){ .first = m->words.len,
				     .len = (uint32_t)len,
				     .number = number };
	if (op_index_add(&m->index, hash, (uint32_t)m->entries.len - 1) < 0) {
		m->entries.len--;
		return;
	}
	memcpy(m->words.data + m->words.len, words, len * sizeof(*words));
	m->words.len += len;
}

void op_memo_reset(struct op_memo *m, uint32_t epoch)
{
	op_index_reset(&m->index);
	m->entries.len = 0;
	m->words.len = 0;
	m->epoch = epoch;
}

void op_memo_deinit(struct op_memo *m)
{
	op_index_clear(&m->index);
	op_vec_clear(&m->entries);
	op_vec_clear(&m->words);
}
