/* SPDX-License-Identifier: Apache-2.0 */
/* Sums in an array, with a hash table from the key to the index. */
#include "recording/tree/view.h"

#include <errno.h>
#include <stdlib.h>

#include "export/format/collect/collect.h"

int sums_add(struct sums *s, uint64_t key, int64_t value)
{
	struct sum *item;
	uint64_t i;

	if (op_map64_get(&s->index, key, &i)) {
		item = &s->items.data[i];
		item->value = op_collect_sum(item->value, value);
		return 0;
	}
	item = op_vec_push(&s->items);
	if (!item)
		return -ENOMEM;
	*item = (struct sum){ key, value };
	return op_map64_put(&s->index, key, s->items.len - 1);
}

int64_t sums_get(const struct sums *s, uint64_t key)
{
	uint64_t i;

	return op_map64_get(&s->index, key, &i) ? s->items.data[i].value : 0;
}

static int compare(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

void sums_sort(struct sums *s)
{
	if (s->items.len)
		qsort(s->items.data, s->items.len, sizeof(*s->items.data), compare);
	/* The index refers to the old order. */
	op_map64_clear(&s->index);
}

void sums_clear(struct sums *s)
{
	op_vec_clear(&s->items);
	op_map64_clear(&s->index);
}
