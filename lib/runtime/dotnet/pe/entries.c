/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dotnet/pe/entries.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "base/macros.h"
#include "base/reader.h"
#include "runtime/dotnet/pe/metadata.h"

enum {
	BLOCK = 16,
	NUMBER_BYTES_MAX = 5,
	ENTRIES_MAX = 1 << 24,
	BUCKETS_SHIFT_MAX = 24,
	SIGNATURE_MAX = 1024, /* bytes of an instance's signature */
	DEPTH_MAX = 32,	      /* types in types, in a signature */
	/* flags of a method's signature */
	SIGNATURE_METHOD_ARGUMENTS = 0x04,
	SIGNATURE_MEMBER_REF = 0x10,
	SIGNATURE_CONSTRAINED = 0x20,
	SIGNATURE_OWNER = 0x40,
	SIGNATURE_MODULE = 0x80,
	/* kinds of types (ECMA-335, II.23.1.16, and corhdr.h) */
	TYPE_PTR = 0x0f,
	TYPE_BYREF = 0x10,
	TYPE_VALUE = 0x11,
	TYPE_CLASS = 0x12,
	TYPE_VAR = 0x13,
	TYPE_ARRAY = 0x14,
	TYPE_INSTANCE = 0x15,
	TYPE_FUNCTION = 0x1b,
	TYPE_VECTOR = 0x1d,
	TYPE_MVAR = 0x1e,
	TYPE_REQUIRED = 0x1f,
	TYPE_OPTIONAL = 0x20,
	TYPE_NATIVE_VALUE = 0x3d,
	TYPE_MODULE = 0x3f,
	FUNCTION_GENERIC = 0x10, /* a flag */
};

/* Read @len bytes at *@off, which moves behind them. */
static int take(const struct op_dotnet_entries *e, uint64_t off, void *to, uint32_t len)
{
	if (!op_range_ok(off, len, e->size))
		return -EBADMSG;
	return op_memory_read(e->memory, e->at + off, to, len);
}

/* A number of 1 to 5 bytes. The lowest bits of the first byte tell how many. *@ret_bits:
 * bits of the number. */
static int sized_number(const struct op_dotnet_entries *e, uint64_t *off, uint32_t *ret,
			uint32_t *ret_bits)
{
	uint8_t bytes[NUMBER_BYTES_MAX] = { 0 };
	uint32_t len = 1;
	uint64_t value = 0;
	int r = take(e, *off, bytes, 1);

	if (r < 0)
		return r;
	while (len < NUMBER_BYTES_MAX && bytes[0] >> (len - 1) & 1)
		len++;
	r = take(e, *off, bytes, len);
	if (r < 0)
		return r;
	memcpy(&value, bytes, sizeof(bytes));
	*off += len;
	*ret = (uint32_t)(value >> (len == NUMBER_BYTES_MAX ? 8 : len));
	*ret_bits = len == NUMBER_BYTES_MAX ? 32 : len * 7;
	return 0;
}

static int number(const struct op_dotnet_entries *e, uint64_t *off, uint32_t *ret)
{
	uint32_t bits;

	return sized_number(e, off, ret, &bits);
}

/* The place of a method's function, at @off. */
static int function_number(const struct op_dotnet_entries *e, uint64_t off, uint32_t *ret)
{
	uint32_t value = 0;
	int r = number(e, &off, &value);

	if (r == 0)
		*ret = value & 1 ? value >> 2 : value >> 1;
	return r;
}

/* The section of @type, of which nothing is read. Returns 0, -ENOENT, or another -errno. */
static int find_section(const struct op_dotnet_pe *pe, uint32_t type,
			struct op_dotnet_entries *ret)
{
	struct op_dotnet_place place;
	int r = op_runtime_dotnet_pe_ready(pe, type, &place);

	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	*ret = (struct op_dotnet_entries){
		.memory = pe->memory,
		.at = op_runtime_dotnet_pe_at(pe, place.rva, place.size),
		.size = place.size,
	};
	return 0;
}

int op_runtime_dotnet_entries(const struct op_dotnet_pe *pe, uint32_t type,
			      struct op_dotnet_entries *ret)
{
	uint64_t off = 0;
	uint32_t head = 0;
	int r = find_section(pe, type, ret);

	if (r == 0)
		r = number(ret, &off, &head);
	if (r < 0)
		return r;
	ret->count = head >> 2;
	ret->base = (uint32_t)off;
	ret->index_bytes = (head & 3) == 0 ? 1 : (head & 3) == 1 ? 2 : 4;
	return ret->count <= ENTRIES_MAX ? 0 : -EBADMSG;
}

int op_runtime_dotnet_entry(const struct op_dotnet_entries *e, uint32_t index,
			    uint32_t *ret)
{
	uint32_t block = 0;
	uint32_t value = 0;
	uint64_t off;
	uint32_t bit;
	int r;

	if (index >= e->count)
		return 0;
	r = take(e, e->base + (uint64_t)(index / BLOCK) * e->index_bytes, &block,
		 e->index_bytes);
	off = (uint64_t)e->base + block;
	/* A tree: of a node, bit 0 tells that it has a left side, which follows; bit 1, that it
	 * has a right one, as far away as its other bits tell. A leaf that stands alone
	 * has neither, but the number of its entry. */
	for (bit = BLOCK / 2; r == 0 && bit; bit /= 2) {
		uint64_t next = off;

		r = number(e, &next, &value);
		if (r < 0)
			return r;
		if (index & bit && value & 2) {
			off += value >> 2;
		} else if (!(index & bit) && value & 1) {
			off = next;
		} else if (!(value & 3) && value >> 2 == index % BLOCK) {
			off = next;
			break;
		} else {
			return 0;
		}
	}
	if (r == 0)
		r = function_number(e, off, ret);
	return r < 0 ? r : 1;
}

int op_runtime_dotnet_instances(const struct op_dotnet_pe *pe, uint32_t type,
				struct op_dotnet_instances *ret)
{
	struct op_dotnet_entries *e = &ret->e;
	uint32_t begin = 0;
	uint32_t end = 0;
	uint8_t head = 0;
	int r = find_section(pe, type, e);

	if (r < 0)
		return r;
	e->base = 1;
	r = take(e, 0, &head, 1);
	e->index_bytes = (head & 3) == 0 ? 1 : (head & 3) == 1 ? 2 : 4;
	if (r == 0 && head >> 2 > BUCKETS_SHIFT_MAX)
		return -EBADMSG;
	/* buckets follow one another, so all are read as one */
	if (r == 0)
		r = take(e, e->base, &begin, e->index_bytes);
	if (r == 0)
		r = take(e, e->base + ((uint64_t)e->index_bytes << (head >> 2)), &end,
			 e->index_bytes);
	ret->off = (uint64_t)e->base + begin;
	ret->end = (uint64_t)e->base + end;
	return r;
}

static void skip_numbers(struct op_reader *r)
{
	uint32_t count = op_runtime_dotnet_number(r);

	while (count-- && !r->failed)
		(void)op_runtime_dotnet_number(r);
}

static void skip_types(struct op_reader *r, uint32_t count, uint32_t depth);

/* What follows a type's kind. */
static void skip_rest(struct op_reader *r, uint8_t kind, uint32_t depth)
{
	uint32_t flags;

	switch (kind) {
	case TYPE_MODULE:
	case TYPE_REQUIRED:
	case TYPE_OPTIONAL:
		(void)op_runtime_dotnet_number(r);
		skip_types(r, 1, depth);
		break;
	case TYPE_PTR:
	case TYPE_BYREF:
	case TYPE_VECTOR:
	case TYPE_NATIVE_VALUE:
		skip_types(r, 1, depth);
		break;
	case TYPE_VALUE:
	case TYPE_CLASS:
	case TYPE_VAR:
	case TYPE_MVAR:
		(void)op_runtime_dotnet_number(r);
		break;
	case TYPE_INSTANCE:
		skip_types(r, 1, depth);
		skip_types(r, op_runtime_dotnet_number(r), depth);
		break;
	case TYPE_ARRAY:
		skip_types(r, 1, depth);
		(void)op_runtime_dotnet_number(r);
		skip_numbers(r);
		skip_numbers(r);
		break;
	case TYPE_FUNCTION:
		flags = op_read_u8(r);
		if (flags & FUNCTION_GENERIC)
			(void)op_runtime_dotnet_number(r);
		flags = op_runtime_dotnet_number(r); /* of parameters */
		skip_types(r, 1, depth);
		skip_types(r, flags, depth);
		break;
	}
}

static void skip_types(struct op_reader *r, uint32_t count, uint32_t depth)
{
	r->failed |= depth == DEPTH_MAX;
	while (count-- && !r->failed)
		skip_rest(r, op_read_u8(r), depth + 1);
}

/* Read the method's row in the signature, of which @r is behind when this returns. */
static uint32_t read_signature(struct op_reader *r)
{
	uint32_t flags = op_runtime_dotnet_number(r);
	uint32_t row;

	if (flags & SIGNATURE_MODULE)
		(void)op_runtime_dotnet_number(r);
	if (flags & SIGNATURE_OWNER)
		skip_types(r, 1, 0);
	row = op_runtime_dotnet_number(r);
	if (flags & SIGNATURE_METHOD_ARGUMENTS)
		skip_types(r, op_runtime_dotnet_number(r), 0);
	if (flags & SIGNATURE_CONSTRAINED)
		skip_types(r, 1, 0);
	return flags & (SIGNATURE_MODULE | SIGNATURE_MEMBER_REF) ? 0 : row;
}

int op_runtime_dotnet_instance(struct op_dotnet_instances *i, uint32_t *ret_function,
			       uint32_t *ret_row)
{
	const struct op_dotnet_entries *e = &i->e;
	uint8_t bytes[SIGNATURE_MAX];
	struct op_reader reader;
	uint64_t at = i->off + 1; /* behind 8 bits of its hash */
	uint64_t from = at;
	uint32_t bits = 0;
	uint32_t by = 0;
	int r;

	if (i->off >= i->end)
		return 0;
	r = sized_number(e, &at, &by, &bits);
	if (r < 0)
		return r;
	i->off = at;
	/* how far away the instance is, with a sign */
	at = from + (uint64_t)((int64_t)((uint64_t)by << (64 - bits)) >> (64 - bits));
	if (at >= e->size)
		return -EBADMSG;
	reader = op_reader_init(bytes, (size_t)OP_MIN(e->size - at, sizeof(bytes)));
	r = take(e, at, bytes, (uint32_t)op_reader_left(&reader));
	if (r < 0)
		return r;
	*ret_row = read_signature(&reader);
	if (reader.failed)
		return -EBADMSG;
	r = function_number(e, at + op_reader_pos(&reader), ret_function);
	return r < 0 ? r : 1;
}
