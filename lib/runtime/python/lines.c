/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the three formats of line tables. */
#include "runtime/python/lines.h"

#include "base/reader.h"

enum {
	UNIT_BYTES = 2, /* bytes of a code unit */
	NO_LINE = -128, /* 3.10: the range has no line */
	/* PyCodeLocationInfoKind of 3.11; kinds below LOCATION_ONE_LINE stay on
	 * the line. */
	LOCATION_ONE_LINE = 10,
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15,
	VARINT_BITS = 6,
	VARINT_BITS_MAX = 30,
};

static uint32_t line_ok(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t lnotab_line(struct op_reader *r, int64_t line, int64_t at)
{
	int64_t addr = 0;

	while (op_reader_left(r) >= 2) {
		addr += op_read_u8(r);
		if (addr > at)
			break;
		line += op_read_s8(r); /* signed since 3.6 */
	}
	return line_ok(line);
}

static uint32_t linetable_line(struct op_reader *r, int64_t line, int64_t at)
{
	int64_t end = 0;

	while (op_reader_left(r) >= 2) {
		int delta;

		end += op_read_u8(r);
		delta = op_read_s8(r);
		if (delta != NO_LINE)
			line += delta;
		if (at < end)
			return delta == NO_LINE ? 0 : line_ok(line);
	}
	return 0;
}

static uint32_t read_varint(struct op_reader *r)
{
	uint32_t value = 0;
	uint32_t shift = 0;
	uint8_t b;

	do {
		b = op_read_u8(r);
		if (shift <= VARINT_BITS_MAX)
			value |= (uint32_t)(b & 63) << shift;
		shift += VARINT_BITS;
	} while ((b & 64) && !r->failed);
	return value;
}

static int64_t read_svarint(struct op_reader *r)
{
	uint32_t value = read_varint(r);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static uint32_t locations_line(struct op_reader *r, int64_t line, int64_t at)
{
	int64_t end = 0;

	while (op_reader_left(r)) {
		uint8_t first = op_read_u8(r);
		uint8_t kind = (first >> 3) & 15;

		if (!(first & 128))
			continue; /* the byte continues the entry before */
		end += ((first & 7) + 1) * UNIT_BYTES;
		if (kind >= LOCATION_ONE_LINE && kind < LOCATION_NO_COLUMNS)
			line += kind - LOCATION_ONE_LINE;
		else if (kind == LOCATION_NO_COLUMNS || kind == LOCATION_LONG)
			line += read_svarint(r);
		if (r->failed)
			return 0;
		if (at < end)
			return kind == LOCATION_NONE ? 0 : line_ok(line);
	}
	return 0;
}

uint32_t op_runtime_python_line(enum op_python_lines kind, const void *table, size_t len,
				uint32_t first_line, int64_t at)
{
	struct op_reader r = op_reader_init(table, len);

	if (at < 0)
		return first_line;
	switch (kind) {
	case OP_PYTHON_LNOTAB:
		return lnotab_line(&r, first_line, at);
	case OP_PYTHON_LINETABLE:
		return linetable_line(&r, first_line, at);
	case OP_PYTHON_LOCATIONS:
		return locations_line(&r, first_line, at);
	}
	return 0;
}
