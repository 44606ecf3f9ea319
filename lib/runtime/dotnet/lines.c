/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dotnet/lines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/vec.h"

enum {
	PATCHPOINT = 1, /* flags of the first byte */
	RICH = 2,
	LOCALS_MAX = 1 << 16, /* of a method */
	RICH_MAX = 1 << 24,   /* bytes */
	HEAD_BYTES = 24,      /* numbers of at most 32 bits: 4 */
	BYTES_MAX = 1 << 17,  /* of a method's map */
	PAGE = 4096,
	BITS_MAX = 32,
	SOURCE_BITS = 2,
};

static const uint32_t INSTRUMENTED = UINT32_MAX;

/* A stream of numbers in nibbles: 3 bits of value, and a 4th that is set if another
 * nibble follows. */
struct nibbles {
	const uint8_t *bytes;
	size_t len; /* bytes */
	size_t at;  /* nibbles */
	bool failed;
};

static uint32_t read_number(struct nibbles *n)
{
	uint32_t value = 0;

	for (;;) {
		uint32_t nibble;

		if (n->at / 2 >= n->len) {
			n->failed = true;
			return 0;
		}
		nibble = n->bytes[n->at / 2] >> (n->at % 2 * 4) & 15;
		n->at++;
		value = value << 3 | (nibble & 7);
		if (!(nibble & 8))
			return value;
	}
}

static int add(struct op_dotnet_bounds *bounds, uint32_t code, uint32_t biased)
{
	struct op_dotnet_bound *bound = op_vec_push(bounds);

	if (!bound)
		return -ENOMEM;
	*bound = (struct op_dotnet_bound){ .code = code,
					   .il = biased + (uint32_t)OP_DOTNET_IL_EPILOG };
	return 0;
}

/* Up to .NET 9: three numbers an entry. */
static int read_loose(struct nibbles *n, uint32_t count, struct op_dotnet_bounds *bounds)
{
	uint32_t code = 0;
	int r = 0;

	while (count-- && r == 0) {
		uint32_t il;

		code += read_number(n);
		il = read_number(n);
		(void)read_number(n); /* the reason of the entry */
		if (n->failed)
			return -EBADMSG;
		r = add(bounds, code, il);
	}
	return r;
}

/* @len bits from bit @at on; the lowest first. */
static uint32_t read_bits(const uint8_t *bytes, size_t at, uint32_t len)
{
	uint64_t value = 0;
	uint32_t i;

	for (i = 0; i < len; i++)
		value |= (uint64_t)(bytes[(at + i) / 8] >> (at + i) % 8 & 1) << i;
	return (uint32_t)value;
}

/* Since .NET 10: entries of a fixed number of bits. */
static int read_packed(struct nibbles *n, uint32_t count, struct op_dotnet_bounds *bounds)
{
	uint32_t code_bits = read_number(n);
	uint32_t il_bits = read_number(n);
	size_t at = (n->at + 1) / 2 * 8;
	uint32_t code = 0;
	int r = 0;

	if (n->failed || code_bits >= BITS_MAX || il_bits >= BITS_MAX)
		return -EBADMSG;
	code_bits++;
	il_bits++;
	if (at + (uint64_t)count * (SOURCE_BITS + code_bits + il_bits) > n->len * 8)
		return -EBADMSG;
	while (count-- && r == 0) {
		at += SOURCE_BITS;
		code += read_bits(n->bytes, at, code_bits);
		at += code_bits;
		r = add(bounds, code, read_bits(n->bytes, at, il_bits));
		at += il_bits;
	}
	return r;
}

static int read_u32(const struct op_memory *memory, uint64_t at, uint32_t *ret)
{
	return op_memory_read(memory, at, ret, sizeof(*ret));
}

/* Skip what is before the sizes. */
static int skip_extras(const struct op_memory *memory, uint64_t *at,
		       const struct op_dotnet_layout *layout)
{
	uint8_t flags = 0;
	uint32_t n = 0;
	int r = op_memory_read(memory, *at, &flags, 1);

	if (r < 0)
		return r;
	if (flags & ~(PATCHPOINT | RICH))
		return -EBADMSG;
	*at += 1;
	if (flags & PATCHPOINT) {
		r = read_u32(memory, *at + layout->patchpoint_locals, &n);
		if (r < 0 || n > LOCALS_MAX)
			return r < 0 ? r : -EBADMSG;
		*at += layout->patchpoint_locals + layout->patchpoint_rest + 4ULL * n;
	}
	if (flags & RICH) {
		r = read_u32(memory, *at, &n);
		if (r < 0 || n > RICH_MAX)
			return r < 0 ? r : -EBADMSG;
		*at += 4ULL + n;
	}
	return 0;
}

int op_runtime_dotnet_bounds(const struct op_memory *memory, uint64_t at,
			     const struct op_dotnet_layout *layout,
			     struct op_dotnet_bounds *bounds)
{
	uint8_t head[HEAD_BYTES] = { 0 };
	struct nibbles n = { head, 0, 0, false };
	_cleanup_free_ uint8_t *bytes = NULL;
	uint32_t size;
	uint32_t count;
	int r = skip_extras(memory, &at, layout);

	if (r < 0)
		return r;
	n.len = OP_MIN((size_t)(PAGE - at % PAGE), sizeof(head));
	r = op_memory_read(memory, at, head, n.len);
	if (r < 0)
		return r;
	/* the rest of a head at the end of a page may be on the next page */
	if (n.len < sizeof(head) &&
	    op_memory_read(memory, at + n.len, head + n.len, sizeof(head) - n.len) == 0)
		n.len = sizeof(head);
	size = read_number(&n);
	if (layout->packed_bounds && size == INSTRUMENTED) {
		size = read_number(&n);
		(void)read_number(&n); /* the size of another map */
	}
	(void)read_number(&n); /* the size of the variables' map */
	if (n.failed || size > BYTES_MAX)
		return -EBADMSG;
	if (!size)
		return 0;
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	r = op_memory_read(memory, at + (n.at + 1) / 2, bytes, size);
	if (r < 0)
		return r;
	n = (struct nibbles){ bytes, size, 0, false };
	count = read_number(&n);
	if (n.failed || count > OP_DOTNET_BOUNDS_MAX)
		return -EBADMSG;
	return layout->packed_bounds ? read_packed(&n, count, bounds)
				     : read_loose(&n, count, bounds);
}

/* The last point with a line and an IL offset of at most @il, or NULL. */
static const struct op_dotnet_point *find_point(const struct op_dotnet_points *points,
						uint32_t il)
{
	const struct op_dotnet_point *found = NULL;
	size_t i;

	for (i = 0; i < points->len && (points->data[i].il <= il || !found); i++)
		if (points->data[i].line)
			found = &points->data[i];
	return found;
}

size_t op_runtime_dotnet_rows(const struct op_dotnet_bounds *bounds,
			      const struct op_dotnet_points *points,
			      struct op_dotnet_row *ret)
{
	size_t len = 0;
	size_t i;

	for (i = 0; i < bounds->len; i++) {
		const struct op_dotnet_bound *b = &bounds->data[i];
		const struct op_dotnet_point *point;
		struct op_dotnet_row row = { .code = b->code };
		uint32_t il = b->il;

		if (il == (uint32_t)OP_DOTNET_IL_NONE) {
			if (!len)
				continue;
			row = ret[len - 1];
			row.code = b->code;
			row.approximate = true;
		}
		if (il == (uint32_t)OP_DOTNET_IL_PROLOG)
			il = 0;
		point = row.approximate ? NULL : find_point(points, il);
		if (point) {
			row.line = point->line;
			row.document = point->document;
		}
		if (len && ret[len - 1].code == row.code)
			len--;
		else if (len && ret[len - 1].line == row.line &&
			 ret[len - 1].approximate == row.approximate &&
			 ret[len - 1].document == row.document)
			continue;
		ret[len++] = row;
	}
	return len;
}

const struct op_dotnet_row *op_runtime_dotnet_row(const struct op_dotnet_row *rows,
						  size_t len, uint32_t code)
{
	const struct op_dotnet_row *found = NULL;
	size_t i;

	for (i = 0; i < len && rows[i].code <= code; i++)
		found = &rows[i];
	return found ? found : len ? rows : NULL;
}
