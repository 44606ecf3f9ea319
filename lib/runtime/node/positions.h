/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes V8's tables from offsets in code to positions in the source, and
 * to bytecodes. */
#ifndef OP_RUNTIME_NODE_POSITIONS_H
#define OP_RUNTIME_NODE_POSITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A position in the source. */
struct op_node_position {
	int32_t offset;	  /* number of the character in the script; < 0: none */
	int32_t inlining; /* number of the inlined call it is in; < 0: none */
};

struct op_node_position op_runtime_node_position(uint64_t raw);

/* How a version of V8 encodes source position tables. */
struct op_node_table_form {
	int32_t first; /* code offset that the first entry is relative to */
	/* entries begin with an unsigned number whose lowest bits are flags, this many;
	 * 0: with a signed number */
	uint32_t flag_bits;
};

/* The last position at or before @offset of the code, from a source position table. If
 * the table ends early, the entries before that count. */
struct op_node_position op_runtime_node_position_at(const uint8_t *table, size_t len,
						    struct op_node_table_form form,
						    uint32_t offset);

/*
 * The offset of the bytecode that baseline code runs at @pc, which counts from the code's
 * start. @table: its bytecode offset table; @bytecodes: the function's; @sizes: sizes of
 * @opcodes bytecodes for each of three operand widths. Returns -1 before the first
 * bytecode, or for an invalid table.
 */
int32_t op_runtime_node_baseline(const uint8_t *table, size_t len,
				 const uint8_t *bytecodes, size_t bytecodes_len,
				 const uint8_t *sizes, size_t opcodes, uint32_t pc);

#endif
