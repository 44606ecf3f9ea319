/* SPDX-License-Identifier: Apache-2.0 */
/* Reads words, types, strings and arrays of V8's heap. */
#include "runtime/node/heap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/macros.h"
#include "base/reader.h"

/* Bits of a string's type: its representation, and whether its characters are bytes. */
enum {
	KEPT_MASK = 7,
	KEPT_FLAT = 0,
	KEPT_CONS = 1,
	KEPT_EXTERNAL = 2,
	KEPT_SLICED = 3,
	KEPT_THIN = 5,
	ONE_BYTE = 8,
	UNCACHED = 16, /* external, without the address of its characters */

	STRING_HASH = 4, /* after the map: the hash, the length, 32 bits each; then: */
	/* cons: two strings; thin: the actual one; sliced: parent, offset */
	STRING_PARTS = 8,
	STRING_CHARS = 16, /* external: the address of the characters */
	STRING_LEN_MAX = 1 << 29,
	HOPS_MAX = 8, /* indirections from a string to its characters */
	CHUNK = 512,
	HALVES_MOST = 512, /* words that are read at once */
};

int op_runtime_node_words(const struct op_node_heap *heap, uint64_t object,
			  uint32_t offset, uint64_t *ret, size_t count)
{
	uint8_t bytes[HALVES_MOST * sizeof(uint32_t)];
	struct op_reader reader = op_reader_init(bytes, count * sizeof(uint32_t));
	size_t i;
	int r;

	if (!op_node_is_object(object))
		return -EBADMSG;
	if (!op_node_is_compressed(heap->layout))
		return op_memory_read(heap->memory, object - 1 + offset, ret,
				      count * sizeof(*ret));
	if (count > HALVES_MOST)
		return -EBADMSG;
	r = op_memory_read(heap->memory, object - 1 + offset, bytes,
			   count * sizeof(uint32_t));
	for (i = 0; r == 0 && i < count; i++)
		ret[i] = op_node_whole(op_node_cage(object), op_read_u32(&reader));
	return r;
}

int op_runtime_node_word(const struct op_node_heap *heap, uint64_t object,
			 uint32_t offset, uint64_t *ret)
{
	return op_runtime_node_words(heap, object, offset, ret, 1);
}

uint64_t op_runtime_node_of_heap(const struct op_node_heap *heap, uint64_t word)
{
	if (!heap->layout->trusted || !(word & 1))
		return word;
	return heap->cage | (uint32_t)word;
}

int op_runtime_node_length(const struct op_node_heap *heap, uint64_t object,
			   uint32_t *ret)
{
	const struct op_node_layout *l = heap->layout;
	uint64_t word;
	int r;

	if (l->raw_lengths)
		return !op_node_is_object(object)
			       ? -EBADMSG
			       : op_memory_read(heap->memory,
						object - 1 +
							op_node_offset(l, OP_NODE_LENGTH),
						ret, sizeof(*ret));
	r = op_runtime_node_word(heap, object, op_node_offset(l, OP_NODE_LENGTH), &word);
	if (r < 0)
		return r;
	if (!op_node_is_small(word) || op_node_small(word) < 0)
		return -EBADMSG;
	*ret = (uint32_t)op_node_small(word);
	return 0;
}

/* The offset of a member @after bytes behind an object's map. */
static uint32_t head_bytes(const struct op_node_heap *heap, uint32_t after)
{
	return (op_node_is_compressed(heap->layout) ? 4 : 8) + after;
}

/* Objects of a program's own kinds have maps that come and go. */
static bool is_v8s_own(const struct op_node_types *known, uint16_t type)
{
	return type < known->first_nonstring || type == known->shared ||
	       type == known->script || type == known->bytecode || type == known->scope;
}

int op_runtime_node_type(const struct op_node_heap *heap, uint64_t object)
{
	struct op_node_maps *maps = heap->maps;
	uint64_t map;
	uint16_t type;
	size_t at;
	int r = op_runtime_node_word(heap, object, 0, &map);

	if (r < 0)
		return r;
	map = op_runtime_node_of_heap(heap, map);
	if (!op_node_is_object(map))
		return -EBADMSG;
	at = op_hash_u64(map) % OP_NODE_MAPS;
	if (maps && maps->map[at] == map)
		return maps->type[at];
	r = op_memory_read(heap->memory, map - 1 + head_bytes(heap, sizeof(uint32_t)),
			   &type, sizeof(type));
	if (r < 0)
		return r;
	if (maps && is_v8s_own(&heap->layout->type, type)) {
		maps->map[at] = map;
		maps->type[at] = type;
	}
	return type;
}

static uint32_t second_part(const struct op_node_heap *heap)
{
	return head_bytes(heap, STRING_PARTS) +
	       (op_node_is_compressed(heap->layout) ? 4 : 8);
}

/* Read a string's type and length. */
static int string_head(const struct op_node_heap *heap, uint64_t object, uint32_t *ret)
{
	int type = op_runtime_node_type(heap, object);
	int r;

	if (type < 0)
		return type;
	if ((uint32_t)type >= heap->layout->type.first_nonstring)
		return -EBADMSG;
	r = op_memory_read(heap->memory, object - 1 + head_bytes(heap, STRING_HASH), ret,
			   sizeof(*ret));
	if (r < 0)
		return r;
	return *ret > STRING_LEN_MAX ? -EBADMSG : type;
}

int op_runtime_node_chars(const struct op_node_heap *heap, uint64_t object,
			  struct op_node_chars *ret)
{
	const uint32_t parts = head_bytes(heap, STRING_PARTS);
	uint64_t skip = 0;
	uint64_t word = 0;
	uint32_t whole;
	uint32_t len = 0;
	uint32_t first =
		0; /* minimum length of a cons string's first part; 0: it has none */
	int hops;
	int r;

	for (hops = 0; hops < HOPS_MAX; hops++) {
		int type = string_head(heap, object, &whole);

		if (type < 0)
			return type;
		if (!hops)
			len = whole;
		if (first && whole != first)
			return -EBADMSG;
		first = 0;
		/* A short flat string ends before this word. */
		r = (type & KEPT_MASK) == KEPT_FLAT || (type & KEPT_MASK) == KEPT_THIN
			    ? 0
			    : op_runtime_node_word(heap, object, second_part(heap),
						   &word);
		if (r < 0)
			return r;
		ret->wide = type & ONE_BYTE ? 1 : 2;
		ret->len = len;
		switch (type & KEPT_MASK) {
		case KEPT_FLAT:
			ret->addr = object - 1 + parts + skip * ret->wide;
			return skip + len <= whole ? 0 : -EBADMSG;
		case KEPT_EXTERNAL:
			/* If V8 is in a sandbox, a handle is there. */
			if (type & UNCACHED || heap->layout->trusted)
				return -EBADMSG;
			r = op_memory_read(heap->memory,
					   object - 1 + head_bytes(heap, STRING_CHARS),
					   &word, sizeof(word));
			if (r < 0)
				return r;
			ret->addr = word + skip * ret->wide;
			return skip + len <= whole ? 0 : -EBADMSG;
		case KEPT_SLICED:
			skip += (uint32_t)op_node_small(word);
			break;
		case KEPT_CONS: /* the second half is empty once it was flattened */
			first = whole;
			break;
		case KEPT_THIN:
			break;
		default:
			return -EBADMSG;
		}
		r = op_runtime_node_word(heap, object, parts, &object);
		if (r < 0)
			return r;
	}
	return -EBADMSG;
}

/* A single surrogate is not a character. */
static void add_wide(struct op_strbuf *to, struct op_reader *r, size_t count)
{
	uint32_t high = 0;

	while (count--) {
		uint32_t c = op_read_u16(r);

		if (high && (c & 0xfc00) == 0xdc00) {
			op_strbuf_utf8(to,
				       0x10000 + ((high & 0x3ff) << 10) + (c & 0x3ff));
			high = 0;
			continue;
		}
		if (high)
			op_strbuf_utf8(to, high);
		high = (c & 0xfc00) == 0xd800 ? c : 0;
		if (!high)
			op_strbuf_utf8(to, c);
	}
	if (high)
		op_strbuf_utf8(to, high);
}

static int add_chars(const struct op_node_heap *heap, const struct op_node_chars *chars,
		     size_t end, struct op_strbuf *to)
{
	uint8_t bytes[CHUNK];
	uint64_t done = 0;

	while (done < chars->len && to->len < end) {
		size_t n = OP_MIN(chars->len - done, sizeof(bytes) / chars->wide);
		struct op_reader r = op_reader_init(bytes, n * chars->wide);
		size_t i;
		int error = op_memory_read(heap->memory, chars->addr + done * chars->wide,
					   bytes, n * chars->wide);

		if (error < 0)
			return error;
		if (chars->wide == 2)
			add_wide(to, &r, n);
		else
			for (i = 0; i < n; i++)
				op_strbuf_utf8(to, bytes[i]);
		done += n;
	}
	return to->failed ? -ENOMEM : 0;
}

int op_runtime_node_string(const struct op_node_heap *heap, uint64_t object, size_t max,
			   struct op_strbuf *to)
{
	uint64_t left[OP_NODE_STRING_PARTS]; /* parts still to do; the last is next */
	size_t end = to->len + max;
	size_t len = 1;
	int parts;

	left[0] = object;
	for (parts = 0; len && parts < OP_NODE_STRING_PARTS && to->len < end; parts++) {
		uint64_t part = left[--len];
		struct op_node_chars chars;
		uint64_t first;
		uint64_t second;
		int r = op_runtime_node_chars(heap, part, &chars);

		if (r == 0)
			r = add_chars(heap, &chars, end, to);
		if (r == 0)
			continue;
		if (r != -EBADMSG)
			return r;
		r = op_runtime_node_type(heap, part);
		if (r < 0)
			return r;
		if ((uint32_t)r >= heap->layout->type.first_nonstring ||
		    (r & KEPT_MASK) != KEPT_CONS || len + 2 > OP_NODE_STRING_PARTS)
			return -EBADMSG;
		r = op_runtime_node_word(heap, part, head_bytes(heap, STRING_PARTS),
					 &first);
		if (r == 0)
			r = op_runtime_node_word(heap, part, second_part(heap), &second);
		if (r < 0)
			return r;
		left[len++] = second;
		left[len++] = first;
	}
	return to->failed ? -ENOMEM : 0;
}

static int read_bytes(const struct op_node_heap *heap, uint64_t addr, uint32_t len,
		      uint8_t **ret, size_t *ret_len)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	int r;

	if (len > OP_NODE_BYTES_MAX)
		return -EBADMSG;
	bytes = malloc(len ? len : 1);
	if (!bytes)
		return -ENOMEM;
	r = op_memory_read(heap->memory, addr, bytes, len);
	if (r < 0)
		return r;
	*ret = OP_TAKE_PTR(bytes);
	*ret_len = len;
	return 0;
}

int op_runtime_node_bytes(const struct op_node_heap *heap, uint64_t object, uint8_t **ret,
			  size_t *ret_len)
{
	uint32_t len;
	int r = op_runtime_node_length(heap, object, &len);

	if (r < 0)
		return r;
	return read_bytes(heap,
			  object - 1 + op_node_offset(heap->layout, OP_NODE_ELEMENTS),
			  len, ret, ret_len);
}

int op_runtime_node_bytecodes(const struct op_node_heap *heap, uint64_t object,
			      uint8_t **ret, size_t *ret_len)
{
	const struct op_node_layout *l = heap->layout;
	uint64_t len;
	int r = op_runtime_node_word(heap, object, l->array_length, &len);

	if (r < 0)
		return r;
	if (!op_node_is_small(len) || op_node_small(len) < 0)
		return -EBADMSG;
	return read_bytes(heap, object - 1 + l->array_bytes, (uint32_t)op_node_small(len),
			  ret, ret_len);
}
