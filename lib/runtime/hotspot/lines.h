/* SPDX-License-Identifier: Apache-2.0 */
/* HotSpot's table from bytecode index (bci) to source line: a stream of pairs of deltas,
 * compressed (CompressedLineNumberReadStream). */
#ifndef OP_RUNTIME_HOTSPOT_LINES_H
#define OP_RUNTIME_HOTSPOT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"

/* A compressed number, as line tables and compiled methods' scopes have it. @no_zero: it
 * excludes the byte 0 (JDK 20 and later). */
uint32_t op_runtime_hotspot_unsigned5(struct op_reader *r, bool no_zero);

/* What a table says of one bytecode index. */
struct op_hotspot_line {
	uint32_t line;	/* 0: nothing */
	uint32_t first; /* the least line of the method; 0: unknown */
};

/* A table that ends early or makes no sense gives what stands before. */
struct op_hotspot_line op_runtime_hotspot_line(const void *table, size_t len,
					       bool no_zero, uint32_t bci);

#endif
