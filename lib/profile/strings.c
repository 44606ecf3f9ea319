/* SPDX-License-Identifier: Apache-2.0 */
/* The base of all tables of a window: memory, indices and strings. */
#include "profile/window_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/utf8.h"

int op_window_grow(struct op_window *w, void **data, size_t *cap, size_t len, size_t more,
		   size_t elem_size)
{
	size_t before = *cap;
	size_t after;
	int r;

	if (len + more <= before)
		return 0;
	/* Numbers are int32 in OTLP. */
	if (len + more > INT32_MAX)
		return -ENOSPC;
	after = before + before / 2; /* the growth rule of op_vec_grow() */
	if (after < len + more + 8)
		after = len + more + 8;
	if (w->bytes + (after - before) * elem_size > w->config.limit_bytes)
		return -ENOSPC;
	r = op_vec_grow(data, cap, len, after - len, elem_size);
	if (r < 0)
		return r;
	w->bytes += (*cap - before) * elem_size;
	return 0;
}

static size_t index_bytes(const struct op_index *x)
{
	return x->slots ? (x->mask + 1) * sizeof(*x->slots) : 0;
}

int op_window_index_add(struct op_window *w, enum op_window_table table, uint32_t hash,
			uint32_t number)
{
	struct op_index *x = &w->index[table];
	size_t before = index_bytes(x);
	int r;

	/* The index doubles when it is three quarters full. */
	if ((x->len + 1) * 4 > (x->mask + 1) * 3 &&
	    w->bytes + before > w->config.limit_bytes)
		return -ENOSPC;
	r = op_index_add(x, hash, number);
	if (r < 0)
		return r;
	w->bytes += index_bytes(x) - before;
	return 0;
}

struct text {
	const char *bytes;
	size_t len;
};

static bool string_equal(const void *elements, uint32_t i, const void *key)
{
	const struct op_window *w = elements;
	const struct text *text = key;

	return w->strings.data[i].len == text->len &&
	       !memcmp(op_window_chars(w, i), text->bytes, text->len);
}

uint32_t op_window_find_string(const struct op_window *w, const char *s, size_t len)
{
	const struct text text = { s, len };

	return op_index_find(&w->index[OP_TABLE_STRING],
			     (uint32_t)op_hash_bytes(s, len, w->seed), w, &text,
			     string_equal);
}

static int string_intern(struct op_window *w, struct text text, uint32_t *ret)
{
	uint32_t hash = (uint32_t)op_hash_bytes(text.bytes, text.len, w->seed);
	uint32_t number =
		op_index_find(&w->index[OP_TABLE_STRING], hash, w, &text, string_equal);
	int r;

	if (number != UINT32_MAX) {
		*ret = number;
		return 0;
	}
	number = (uint32_t)w->strings.len;
	r = op_window_reserve(w, &w->strings, 1);
	if (r >= 0)
		r = op_window_reserve(w, &w->chars, text.len + 1);
	if (r >= 0)
		r = op_window_index_add(w, OP_TABLE_STRING, hash, number);
	if (r < 0)
		return r;
	w->strings.data[w->strings.len++] =
		(struct op_span){ (uint32_t)w->chars.len, (uint32_t)text.len };
	memcpy(w->chars.data + w->chars.len, text.bytes, text.len);
	w->chars.data[w->chars.len + text.len] = '\0';
	w->chars.len += text.len + 1;
	*ret = number;
	return 0;
}

static int string_mend(struct op_window *w, struct text text, uint32_t *ret)
{
	_cleanup_free_ char *mended = malloc(text.len * OP_UTF8_MEND_FACTOR);
	size_t len;

	if (!mended)
		return -ENOMEM;
	w->strings_mended++;
	len = op_utf8_mend(text.bytes, text.len, mended);
	len = op_utf8_cut(mended, len, OP_STRING_MAX_BYTES);
	return string_intern(w, (struct text){ mended, len }, ret);
}

int op_window_string(struct op_window *w, const char *s, size_t len, uint32_t *ret)
{
	struct text text = { s, len };

	if (len > OP_STRING_MAX_BYTES) {
		w->strings_cut++;
		text.len = op_utf8_cut(s, len, OP_STRING_MAX_BYTES);
	}
	if (!op_utf8_valid(text.bytes, text.len))
		return string_mend(w, text, ret);
	return string_intern(w, text, ret);
}
