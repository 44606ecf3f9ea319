/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the reader that are not inline: LEB128, strings, sub-readers. */
#include "base/reader.h"

#include "base/checked.h"

/*
 * Read the bits of a LEB128 number; *@ret_shift is their count, *@ret_last the last byte.
 */
static uint64_t read_leb(struct op_reader *r, unsigned int *ret_shift, uint8_t *ret_last)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = op_read_u8(r);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && !r->failed);
	*ret_shift = shift;
	*ret_last = byte;
	return r->failed ? 0 : value;
}

uint64_t op_read_uleb(struct op_reader *r)
{
	unsigned int shift;
	uint8_t last;

	return read_leb(r, &shift, &last);
}

int64_t op_read_sleb(struct op_reader *r)
{
	unsigned int shift;
	uint8_t last;
	uint64_t value = read_leb(r, &shift, &last);

	if (!r->failed && shift < 64 && (last & 0x40))
		value |= ~UINT64_C(0) << shift;
	return (int64_t)value;
}

const char *op_read_cstr(struct op_reader *r)
{
	const uint8_t *start = r->pos;
	const uint8_t *nul;

	nul = r->failed ? NULL : memchr(start, 0, op_reader_left(r));
	if (!nul) {
		r->failed = true;
		return NULL;
	}
	r->pos = nul + 1;
	return (const char *)start;
}

struct op_reader op_reader_sub(const struct op_reader *r, uint64_t off, uint64_t len)
{
	struct op_reader sub = op_reader_init(r->start, 0);

	if (r->failed || !op_range_ok(off, len, (uint64_t)(r->end - r->start))) {
		sub.failed = true;
		return sub;
	}
	return op_reader_init(r->start + off, len);
}

void op_reader_seek(struct op_reader *r, uint64_t off)
{
	if (off > (uint64_t)(r->end - r->start))
		r->failed = true;
	else
		r->pos = r->start + off;
}
