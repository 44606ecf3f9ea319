/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of values, by a number as key. */
#ifndef OP_RECORDING_TREE_SUMS_H
#define OP_RECORDING_TREE_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

struct sum {
	uint64_t key;
	int64_t value;
};

struct sums {
	OP_VEC(struct sum) items;
	struct op_map64 index;
};

/* Returns 0 or -ENOMEM. */
int sums_add(struct sums *s, uint64_t key, int64_t value);
/* The sum under @key, or 0. */
int64_t sums_get(const struct sums *s, uint64_t key);
/* Sort the largest first, equal ones by key. Nothing can be added afterwards. */
void sums_sort(struct sums *s);
void sums_clear(struct sums *s);

#endif
