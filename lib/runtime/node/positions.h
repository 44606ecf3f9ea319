/* SPDX-License-Identifier: Apache-2.0 */
/* V8's tables from offsets in code to places in the source, and to bytecodes. */
#ifndef OP_RUNTIME_NODE_POSITIONS_H
#define OP_RUNTIME_NODE_POSITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A place in the source. */
struct op_node_position {
	int32_t offset;	  /* of the character in the script; < 0: none */
	int32_t inlining; /* which inlined call it is in; < 0: none */
};

struct op_node_position op_runtime_node_position(uint64_t raw);

/* How a version writes source position tables. */
struct op_node_table_form {
	int32_t first; /* offset in the code from which the first entry counts */
	bool flagged; /* entries begin with an unsigned number, flags in its 2 low bits */
};

/* The last place at or before @offset of the code, in a source position table. A table that
 * ends early gives what stands before. */
struct op_node_position op_runtime_node_position_at(const uint8_t *table, size_t len,
						    struct op_node_table_form form,
						    uint32_t offset);

/*
 * The offset of the bytecode that baseline code at @pc, from its begin, is of. @table: its
 * bytecode offset table; @bytecodes: those of the function; @sizes: of @opcodes bytecodes
 * each, for the three operand widths. Returns -1 before the first one, or for garbage.
 */
int32_t op_runtime_node_baseline(const uint8_t *table, size_t len,
				 const uint8_t *bytecodes, size_t bytecodes_len,
				 const uint8_t *sizes, size_t opcodes, uint32_t pc);

#endif
