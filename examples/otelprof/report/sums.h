/* SPDX-License-Identifier: Apache-2.0 */
/* Values summed by a number. */
#ifndef OTELPROF_REPORT_SUMS_H
#define OTELPROF_REPORT_SUMS_H

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
/* The value under @key, 0 where there is none. */
int64_t sums_get(const struct sums *s, uint64_t key);
/* The most first, equal ones by key. Nothing can be added any more. */
void sums_sort(struct sums *s);
void sums_clear(struct sums *s);

#endif
