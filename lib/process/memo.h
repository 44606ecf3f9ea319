/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What words stand for in the open window: those of a whole record for a stack, those of
 * an interpreted frame for a location. Compared word by word on a hash hit.
 */
#ifndef OP_PROCESS_MEMO_H
#define OP_PROCESS_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

struct op_memo_entry {
	size_t first; /* in words */
	uint32_t len;
	uint32_t number; /* of the window */
};

struct op_memo {
	uint64_t seed;
	size_t words_max; /* of all runs together; more are not kept */
	uint32_t epoch;
	struct op_index index;
	OP_VEC(struct op_memo_entry) entries;
	OP_VEC(uint64_t) words;
};

void op_memo_init(struct op_memo *m, size_t words_max);
uint32_t op_memo_hash(const struct op_memo *m, const uint64_t *words, size_t len);
/* Returns true and their number where the words were met under @epoch. */
bool op_memo_find(struct op_memo *m, uint32_t epoch, uint32_t hash, const uint64_t *words,
		  size_t len, uint32_t *ret);
/* Keep what the words stand for; past a limit or without memory it is left out. */
void op_memo_add(struct op_memo *m, uint32_t hash, const uint64_t *words, size_t len,
		 uint32_t number);
void op_memo_reset(struct op_memo *m, uint32_t epoch);
void op_memo_deinit(struct op_memo *m);

#endif
