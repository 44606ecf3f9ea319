/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes source position tables and bytecode offset tables. */
#include "runtime/node/positions.h"

#include "base/reader.h"

enum {
	VLQ_BYTES_MAX = 10,
	/* The prefixes of wide and extra wide operands are bytecodes 0 and 1, and 2 and 3
	 * for the debugger. */
	PREFIXES = 4,
};

/* Bit fields of SourcePosition (source-position.h): 1 bit, 30 bits, 16 bits. */
enum {
	EXTERNAL = 1,
	OFFSET_SHIFT = 1,
	OFFSET_BITS = 30,
	INLINING_SHIFT = 31,
	INLINING_MASK = 0xffff,
};

/* A number with seven bits in each byte, lowest first. The highest bit is set if more
 * bytes follow. */
static uint64_t read_vlq(struct op_reader *r)
{
	uint64_t value = 0;
	int i;

	for (i = 0; i < VLQ_BYTES_MAX; i++) {
		uint8_t byte = op_read_u8(r);

		value |= (uint64_t)(byte & 0x7f) << (7 * i & 63);
		if (!(byte & 0x80))
			break;
	}
	return value;
}

/* Decode a signed number: its lowest bit is the sign. */
static int64_t zigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

struct op_node_position op_runtime_node_position(uint64_t raw)
{
	struct op_node_position ret = { -1, -1 };

	if (raw & EXTERNAL)
		return ret;
	ret.offset = (int32_t)(raw >> OFFSET_SHIFT & ((1U << OFFSET_BITS) - 1)) - 1;
	ret.inlining = (int32_t)(raw >> INLINING_SHIFT & INLINING_MASK) - 1;
	return ret;
}

struct op_node_position op_runtime_node_position_at(const uint8_t *table, size_t len,
						    struct op_node_table_form form,
						    uint32_t offset)
{
	struct op_reader r = op_reader_init(table, len);
	struct op_node_position ret = { -1, -1 };
	uint64_t raw = 0;
	int64_t at = form.first;

	while (op_reader_left(&r)) {
		uint64_t first = read_vlq(&r);
		int64_t delta = zigzag(first);

		/* otherwise a negative number marks an expression's position */
		if (form.flag_bits)
			delta = (int64_t)(first >> (form.flag_bits & 63));
		else if (delta < 0)
			delta = -(delta + 1);
		raw += (uint64_t)zigzag(read_vlq(&r));
		at += delta;
		if (r.failed || at > offset)
			break;
		ret = op_runtime_node_position(raw);
	}
	return ret;
}

int32_t op_runtime_node_baseline(const uint8_t *table, size_t len,
				 const uint8_t *bytecodes, size_t bytecodes_len,
				 const uint8_t *sizes, size_t opcodes, uint32_t pc)
{
	struct op_reader r = op_reader_init(table, len);
	uint64_t end = read_vlq(&r); /* of the prologue */
	size_t at = 0;

	if (r.failed || pc < end)
		return -1;
	while (op_reader_left(&r) && at < bytecodes_len) {
		size_t scale = 0;
		size_t bytes = 0;

		end += read_vlq(&r);
		if (r.failed)
			return -1;
		if (pc < end)
			return (int32_t)at;
		if (bytecodes[at] < PREFIXES) {
			scale = (bytecodes[at] & 1) + 1;
			bytes = 1;
		}
		if (at + bytes >= bytecodes_len || bytecodes[at + bytes] >= opcodes)
			return -1;
		bytes += sizes[scale * opcodes + bytecodes[at + bytes]];
		at += bytes;
	}
	return -1;
}
