/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/ruby/object.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"

enum {
	TYPE_MASK = 0x1f, /* enum ruby_value_type, in an object's first word */
	TYPE_STRING = 5,
	TYPE_ARRAY = 7,
	ALIGNMENT = 8,
	HEAP_STRING = 1 << 13,	  /* RSTRING_NOEMBED */
	INTERNED = 1 << 29,	  /* RSTRING_FSTR */
	STRING_LENGTH_SHIFT = 14, /* RSTRING_EMBED_LEN_SHIFT, to 3.1 */
	STRING_LENGTH_MASK = 0x1f,
	EMBEDDED_ARRAY = 1 << 13, /* RARRAY_EMBED_FLAG */
	ARRAY_LENGTH_SHIFT = 15,  /* RARRAY_EMBED_LEN_SHIFT */
	ARRAY_LENGTH_MASK = 0x7f,
	ARRAY_LENGTH = 16,
	ARRAY_POINTER = 32,
	HEAD_WORDS = OP_RUBY_HEAD_BYTES / 8,
	CHUNK_BYTES = 256,
	/* symbol.c */
	ID_UNIT = 512,
	ID_WORDS = 2,
	ID_SCOPE_SHIFT = 4,
};

/* Read the first words of the object at @addr, which must have the type @type. */
static int read_head(const struct op_ruby_objects *objects, uint64_t addr, uint32_t type,
		     uint64_t ret[HEAD_WORDS])
{
	int r;

	if (addr % ALIGNMENT || !addr)
		return -EBADMSG;
	r = op_memory_read(objects->memory, addr, ret, HEAD_WORDS * sizeof(*ret));
	if (r < 0)
		return r;
	return (ret[0] & TYPE_MASK) == type ? 0 : -EBADMSG;
}

int op_runtime_ruby_string(const struct op_ruby_objects *objects, uint64_t addr,
			   struct op_strbuf *to)
{
	uint64_t head[HEAD_WORDS];
	uint8_t bytes[CHUNK_BYTES];
	uint64_t text = addr + objects->layout->string_embedded;
	uint64_t length;
	int r = read_head(objects, addr, TYPE_STRING, head);

	if (r < 0)
		return r;
	if (!(head[0] & INTERNED))
		return -EBADMSG;
	length = head[OP_RUBY_STRING_LENGTH / 8];
	if (head[0] & HEAP_STRING)
		text = head[OP_RUBY_STRING_POINTER / 8];
	else if (objects->layout->string_embedded == OP_RUBY_STRING_LENGTH)
		length = head[0] >> STRING_LENGTH_SHIFT & STRING_LENGTH_MASK;
	if (length > INT64_MAX)
		return -EBADMSG;
	for (length = OP_MIN(length, (uint64_t)OP_RUBY_TEXT_MAX); length;) {
		size_t n = OP_MIN(length, sizeof(bytes));
		const uint8_t *end;

		r = op_memory_read(objects->memory, text, bytes, n);
		if (r < 0)
			return r;
		end = memchr(bytes, 0, n);
		op_strbuf_add(to, bytes, end ? (size_t)(end - bytes) : n);
		if (end)
			break;
		text += n;
		length -= n;
	}
	return to->failed ? -ENOMEM : 0;
}

int op_runtime_ruby_element(const struct op_ruby_objects *objects, uint64_t addr,
			    uint64_t i, uint64_t *ret)
{
	uint64_t head[HEAD_WORDS];
	uint64_t length;
	uint64_t first;
	int r = read_head(objects, addr, TYPE_ARRAY, head);

	if (r < 0)
		return r;
	if (head[0] & EMBEDDED_ARRAY) {
		length = head[0] >> ARRAY_LENGTH_SHIFT & ARRAY_LENGTH_MASK;
		first = addr + OP_RUBY_ARRAY_EMBEDDED;
	} else {
		length = head[ARRAY_LENGTH / 8];
		first = head[ARRAY_POINTER / 8];
	}
	if (i >= length || i > UINT32_MAX)
		return -ENOENT;
	return op_memory_read(objects->memory, first + i * sizeof(*ret), ret,
			      sizeof(*ret));
}

int op_runtime_ruby_symbol(const struct op_ruby_objects *objects, uint64_t id,
			   struct op_strbuf *to)
{
	uint64_t number = id > objects->layout->last_op ? id >> ID_SCOPE_SHIFT : id;
	uint64_t word = 0;
	int r;

	if (!objects->symbols)
		return -ENOENT;
	r = op_memory_read(objects->memory, objects->symbols + OP_RUBY_SYMBOLS_IDS, &word,
			   sizeof(word));
	if (r == 0)
		r = op_runtime_ruby_element(objects, word, number / ID_UNIT, &word);
	if (r == 0)
		r = op_runtime_ruby_element(objects, word, number % ID_UNIT * ID_WORDS,
					    &word);
	return r < 0 ? r : op_runtime_ruby_string(objects, word, to);
}
