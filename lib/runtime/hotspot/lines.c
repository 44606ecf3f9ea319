/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes compressed numbers and line tables. */
#include "runtime/hotspot/lines.h"

enum {
	ESCAPE = 0xff, /* two numbers follow */
	BCI_SHIFT = 3, /* otherwise one byte: bci delta << 3 | line delta */
	LINE_MASK = 7,

	/* UNSIGNED5: digits of base 64; a digit below HIGH is the last; at most five
	 * bytes. */
	HIGH = 192,
	DIGIT_SHIFT = 6,
	NUMBER_BYTES = 5,
	LINE_MAX = 1 << 24,
};

uint32_t op_runtime_hotspot_unsigned5(struct op_reader *r, bool no_zero)
{
	uint32_t exclude = no_zero ? 1 : 0;
	uint32_t sum = 0;
	int i;

	for (i = 0; i < NUMBER_BYTES; i++) {
		uint32_t b = op_read_u8(r);

		if (b < exclude) {
			r->failed = true;
			return 0;
		}
		sum += (b - exclude) << (DIGIT_SHIFT * i);
		if (b < HIGH)
			break;
	}
	return sum;
}

/* A signed number has its sign in the lowest bit. */
static int32_t read_signed5(struct op_reader *r, bool no_zero)
{
	uint32_t v = op_runtime_hotspot_unsigned5(r, no_zero);

	return (int32_t)(v >> 1) ^ -(int32_t)(v & 1);
}

struct op_hotspot_line op_runtime_hotspot_line(const void *table, size_t len,
					       bool no_zero, uint32_t bci)
{
	struct op_reader r = op_reader_init(table, len);
	struct op_hotspot_line ret = { 0 };
	int64_t best = -1;
	int64_t at = 0;
	int64_t line = 0;

	while (!r.failed) {
		uint8_t b = op_read_u8(&r);

		if (!b)
			break;
		if (b == ESCAPE) {
			at += read_signed5(&r, no_zero);
			line += read_signed5(&r, no_zero);
		} else {
			at += b >> BCI_SHIFT;
			line += b & LINE_MASK;
		}
		if (r.failed || line <= 0 || line > LINE_MAX)
			break;
		if (!ret.first || line < ret.first)
			ret.first = (uint32_t)line;
		/* Entries are not sorted: the last one that begins at or before bci
		 * counts. */
		if (at <= bci && at >= best) {
			best = at;
			ret.line = (uint32_t)line;
		}
	}
	return ret;
}
