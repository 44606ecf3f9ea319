/* SPDX-License-Identifier: Apache-2.0 */
#include "process/image/names.h"

#include <string.h>

struct op_place *op_names_get(struct op_names *n, uint64_t vaddr)
{
	uint64_t i;

	if (!op_map64_get(&n->by_address, vaddr, &i))
		return NULL;
	return &n->places.data[i];
}

bool op_names_are_full(const struct op_names *n)
{
	return n->places.len >= OP_NAMES_PLACES_MAX || n->text.len >= OP_NAMES_TEXT_MAX;
}

struct op_place *op_names_add(struct op_names *n, uint64_t vaddr)
{
	struct op_place *place;

	if (op_names_are_full(n))
		op_names_clear(n);
	place = op_vec_push(&n->places);
	if (!place)
		return NULL;
	if (op_map64_put(&n->by_address, vaddr, n->places.len - 1) < 0) {
		n->places.len--;
		return NULL;
	}
	*place = (struct op_place){ .name = OP_NAME_NONE };
	return place;
}

size_t op_names_text(struct op_names *n, const char *text)
{
	size_t at = n->text.len;

	op_strbuf_add(&n->text, text, strlen(text) + 1);
	if (n->text.failed) {
		n->text.failed = false;
		n->text.len = at;
		return SIZE_MAX;
	}
	return at;
}

size_t op_names_bytes(const struct op_names *n)
{
	return op_map64_bytes(&n->by_address) + op_map64_bytes(&n->by_key) +
	       n->places.cap * sizeof(*n->places.data) +
	       n->lines.cap * sizeof(*n->lines.data) +
	       n->names.cap * sizeof(*n->names.data) + n->text.cap;
}

void op_names_clear(struct op_names *n)
{
	op_map64_clear(&n->by_address);
	op_map64_clear(&n->by_key);
	op_vec_clear(&n->places);
	op_vec_clear(&n->lines);
	op_vec_clear(&n->names);
	op_strbuf_deinit(&n->text);
	n->text = (struct op_strbuf){ 0 };
}
