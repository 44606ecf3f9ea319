/* SPDX-License-Identifier: Apache-2.0 */
/* Reads HotSpot's table from bytecode index (bci) to source line, which is a compressed
 * stream of pairs of deltas (CompressedLineNumberReadStream). */
#ifndef OP_RUNTIME_HOTSPOT_LINES_H
#define OP_RUNTIME_HOTSPOT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"

/* A compressed number, as in line tables and compiled methods' scopes. @no_zero: the
 * encoding excludes the byte 0 (since JDK 20). */
uint32_t op_runtime_hotspot_unsigned5(struct op_reader *r, bool no_zero);

/* The entry of a line table for one bytecode index. */
struct op_hotspot_line {
	uint32_t line;	/* 0: unknown */
	uint32_t first; /* the smallest line of the method; 0: unknown */
};

/* If a table ends early or becomes inconsistent, the entries before that count. */
struct op_hotspot_line op_runtime_hotspot_line(const void *table, size_t len,
					       bool no_zero, uint32_t bci);

#endif
