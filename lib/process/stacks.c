/* SPDX-License-Identifier: Apache-2.0 */
#include "process/stacks.h"

#include <string.h>

#include "base/macros.h"

struct key {
	const struct op_stacks *stacks;
	const uint64_t *words;
	size_t len;
};

static bool equal(const void *elements, uint32_t i, const void *key)
{
	const struct op_stack_entry *e = (const struct op_stack_entry *)elements + i;
	const struct key *k = key;

	return e->len == k->len && memcmp(k->stacks->words.data + e->first, k->words,
					  k->len * sizeof(*k->words)) == 0;
}

uint32_t op_stacks_hash(const struct op_stacks *s, const uint64_t *words, size_t len)
{
	return (uint32_t)op_hash_bytes(words, len * sizeof(*words), s->seed);
}

bool op_stacks_find(struct op_stacks *s, uint32_t epoch, uint32_t hash,
		    const uint64_t *words, size_t len, uint32_t *ret)
{
	struct key key = { .stacks = s, .words = words, .len = len };
	uint32_t i;

	if (s->epoch != epoch) {
		op_stacks_reset(s, epoch);
		return false;
	}
	i = op_index_find(&s->index, hash, s->entries.data, &key, equal);
	if (i == UINT32_MAX)
		return false;
	*ret = s->entries.data[i].stack;
	return true;
}

void op_stacks_add(struct op_stacks *s, uint32_t hash, const uint64_t *words, size_t len,
		   uint32_t stack)
{
	struct op_stack_entry *e;

	if (s->words.len + len > OP_STACKS_WORDS_MAX ||
	    op_vec_reserve(&s->words, len) < 0)
		return;
	e = op_vec_push(&s->entries);
	if (!e)
		return;
	*e = (struct op_stack_entry){ .first = s->words.len,
				      .len = (uint32_t)len,
				      .stack = stack };
	if (op_index_add(&s->index, hash, (uint32_t)s->entries.len - 1) < 0) {
		s->entries.len--;
		return;
	}
	memcpy(s->words.data + s->words.len, words, len * sizeof(*words));
	s->words.len += len;
}

void op_stacks_reset(struct op_stacks *s, uint32_t epoch)
{
	op_index_reset(&s->index);
	s->entries.len = 0;
	s->words.len = 0;
	s->epoch = epoch;
}

void op_stacks_deinit(struct op_stacks *s)
{
	op_index_clear(&s->index);
	op_vec_clear(&s->entries);
	op_vec_clear(&s->words);
}
