/* SPDX-License-Identifier: Apache-2.0 */
/* A binary heap of keys, each with a value. The least key is at the top, and among equal keys
 * the least value. */
#ifndef OP_BASE_MINHEAP_H
#define OP_BASE_MINHEAP_H

#include <stdint.h>

#include "base/vec.h"

struct op_minheap_item {
	uint64_t key;
	uint32_t value;
};

/* op_vec_reserve() and op_vec_clear() apply. */
struct op_minheap {
	OP_VEC(struct op_minheap_item);
};

/* Returns 0 or -ENOMEM. */
int op_minheap_add(struct op_minheap *h, uint64_t key, uint32_t value);
/* Give the item at the top another key. The heap must not be empty. */
void op_minheap_change_top(struct op_minheap *h, uint64_t key);
/* Remove the item at the top. The heap must not be empty. */
void op_minheap_remove_top(struct op_minheap *h);

#endif
