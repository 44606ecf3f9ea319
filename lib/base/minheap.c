/* SPDX-License-Identifier: Apache-2.0 */
#include "base/minheap.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>

static bool before(const struct op_minheap_item *a, const struct op_minheap_item *b)
{
	return a->key < b->key || (a->key == b->key && a->value < b->value);
}

int op_minheap_add(struct op_minheap *h, uint64_t key, uint32_t value)
{
	struct op_minheap_item item = { .key = key, .value = value };
	size_t at = h->len;

	if (op_vec_reserve(h, 1))
		return -ENOMEM;
	h->len++;
	for (; at && before(&item, &h->data[(at - 1) / 2]); at = (at - 1) / 2)
		h->data[at] = h->data[(at - 1) / 2];
	h->data[at] = item;
	return 0;
}

/* Put @item into the heap, whose top is free. */
static void sink(struct op_minheap *h, struct op_minheap_item item)
{
	size_t at = 0;
	size_t child;

	while ((child = 2 * at + 1) < h->len) {
		if (child + 1 < h->len && before(&h->data[child + 1], &h->data[child]))
			child++;
		if (!before(&h->data[child], &item))
			break;
		h->data[at] = h->data[child];
		at = child;
	}
	h->data[at] = item;
}

void op_minheap_change_top(struct op_minheap *h, uint64_t key)
{
	assert(h->len);
	sink(h, (struct op_minheap_item){ .key = key, .value = h->data[0].value });
}

void op_minheap_remove_top(struct op_minheap *h)
{
	assert(h->len);
	if (--h->len)
		sink(h, h->data[h->len]);
}
