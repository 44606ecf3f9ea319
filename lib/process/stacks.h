/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks already met in the open window: the words of a record to the window's number of
 * its stack. Compared word by word on a hash hit.
 */
#ifndef OP_PROCESS_STACKS_H
#define OP_PROCESS_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

enum {
	OP_STACKS_WORDS_MAX = 1 << 20, /* 8 MiB of words a window; more are not cached */
};

struct op_stack_entry {
	size_t first; /* in words */
	uint32_t len;
	uint32_t stack; /* of the window */
};

struct op_stacks {
	uint64_t seed;
	uint32_t epoch;
	struct op_index index;
	OP_VEC(struct op_stack_entry) entries;
	OP_VEC(uint64_t) words;
};

uint32_t op_stacks_hash(const struct op_stacks *s, const uint64_t *words, size_t len);
/* Returns true and the stack's number where the words were met under @epoch. */
bool op_stacks_find(struct op_stacks *s, uint32_t epoch, uint32_t hash,
		    const uint64_t *words, size_t len, uint32_t *ret);
/* Keep what the words stand for; past a limit or without memory it is left out. */
void op_stacks_add(struct op_stacks *s, uint32_t hash, const uint64_t *words, size_t len,
		   uint32_t stack);
void op_stacks_reset(struct op_stacks *s, uint32_t epoch);
void op_stacks_deinit(struct op_stacks *s);

#endif
