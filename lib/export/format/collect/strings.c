/* SPDX-License-Identifier: Apache-2.0 */
#include "export/format/collect/collect.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

int op_strings_init(struct op_strings *s, uint64_t seed)
{
	struct op_string_place *empty = op_vec_push(&s->places);

	s->seed = seed;
	/* pointers of ranges are never NULL */
	if (!empty || op_vec_reserve(&s->text, 1))
		return -ENOMEM;
	*empty = (struct op_string_place){ 0 };
	return 0;
}

void op_strings_deinit(struct op_strings *s)
{
	op_vec_clear(&s->text);
	op_vec_clear(&s->places);
	op_index_clear(&s->index);
}

struct otlp_text op_strings_get(const struct op_strings *s, uint32_t number)
{
	const struct op_string_place *place = &s->places.data[number];

	return (struct otlp_text){ s->text.data + place->offset, place->len };
}

static bool string_equal(const void *elements, uint32_t i, const void *key)
{
	const struct otlp_text *wanted = key;
	struct otlp_text text = op_strings_get(elements, i);

	return text.len == wanted->len && memcmp(text.data, wanted->data, text.len) == 0;
}

int op_strings_add(struct op_strings *s, struct otlp_text text, uint32_t *ret)
{
	struct op_string_place *place;
	uint32_t hash;

	*ret = 0;
	if (!text.len)
		return 0;
	hash = (uint32_t)op_hash_bytes(text.data, text.len, s->seed);
	*ret = op_index_find(&s->index, hash, s, &text, string_equal);
	if (*ret != UINT32_MAX)
		return 0;
	if (op_vec_reserve(&s->text, text.len))
		return -ENOMEM;
	place = op_vec_push(&s->places);
	if (!place)
		return -ENOMEM;
	*place = (struct op_string_place){ s->text.len, text.len };
	memcpy(s->text.data + s->text.len, text.data, text.len);
	s->text.len += text.len;
	*ret = (uint32_t)s->places.len - 1;
	return op_index_add(&s->index, hash, *ret);
}
