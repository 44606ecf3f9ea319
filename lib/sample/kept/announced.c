/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/kept/announced.h"

#include <errno.h>
#include <string.h>

int op_announced_add(struct op_announced *a, const struct op_hash *hash,
		     const void *record, size_t len)
{
	const struct op_announced_head head = { .hash = *hash, .len = len };
	struct op_announced_table *t = &a->now;
	size_t at = t->bytes.len;

	if (at + sizeof(head) + len > OP_ANNOUNCED_BYTES_MAX)
		return -ENOSPC;
	if (op_vec_reserve(&t->bytes, sizeof(head) + len) ||
	    op_map64_put(&t->by_hash, hash->word[0], at) < 0)
		return -ENOMEM;
	memcpy(t->bytes.data + at, &head, sizeof(head));
	memcpy(t->bytes.data + at + sizeof(head), record, len);
	t->bytes.len += sizeof(head) + len;
	return 0;
}

static const void *find_in(const struct op_announced_table *t, const struct op_hash *hash,
			   size_t *ret_len)
{
	struct op_announced_head head;
	uint64_t at;

	if (!op_map64_get(&t->by_hash, hash->word[0], &at))
		return NULL;
	memcpy(&head, t->bytes.data + at, sizeof(head));
	if (head.hash.word[1] != hash->word[1])
		return NULL;
	*ret_len = head.len;
	return t->bytes.data + at + sizeof(head);
}

const void *op_announced_find(const struct op_announced *a, const struct op_hash *hash,
			      size_t *ret_len)
{
	const void *found = find_in(&a->now, hash, ret_len);

	return found ? found : find_in(&a->before, hash, ret_len);
}

static void clear(struct op_announced_table *t)
{
	op_map64_clear(&t->by_hash);
	op_vec_clear(&t->bytes);
}

void op_announced_turn(struct op_announced *a)
{
	clear(&a->before);
	a->before = a->now;
	memset(&a->now, 0, sizeof(a->now));
}

bool op_announced_is_large(const struct op_announced *a)
{
	return a->now.bytes.len > OP_ANNOUNCED_BYTES_MAX / 2;
}

void op_announced_deinit(struct op_announced *a)
{
	clear(&a->now);
	clear(&a->before);
}
