/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a version of V8 keeps what. The node binary publishes much of it for debuggers, as
 * int variables v8dbg_*; the rest is a section of node.layout for each version. See docs/runtimes/node.md.
 */
#ifndef OP_RUNTIME_NODE_LAYOUT_H
#define OP_RUNTIME_NODE_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/file.h"
#include "runtime/layouts.h"
#include "runtime/node/positions.h"

/* What stays the same in all versions known, in bytes of an object (published as well). */
enum {
	OP_NODE_MAP_TYPE = 12, /* Map: instance type, 16 bits */
	OP_NODE_LENGTH = 8,    /* FixedArray, ByteArray, BytecodeArray */
	OP_NODE_ELEMENTS = 16,
	OP_NODE_SHARED_CODE = 8, /* SharedFunctionInfo: its code, or a builtin's number */
	OP_NODE_SCRIPT_SOURCE = 8,
	OP_NODE_SCRIPT_NAME = 16,
	OP_NODE_SCRIPT_LINE_OFFSET = 24,
	OP_NODE_SCRIPT_LINE_ENDS = 56,
};

/* Offsets in bytes; those of slots below fp; those of deoptimization data in words. */
struct op_node_layout {
	uint32_t array_slot;
	uint32_t offset_slot;
	uint32_t function_shared;

	uint32_t frame_wasm; /* type of frames of WebAssembly, or 0 */

	uint32_t shared_name;
	uint32_t shared_script;
	uint32_t shared_token;
	uint32_t shared_id;

	uint32_t scope_slots; /* where a ScopeInfo's words begin */
	uint32_t scope_fixed; /* words before the locals */
	uint32_t
		scope_position; /* word with the first position, or 0: behind the names */

	uint32_t type_first_nonstring;
	uint32_t type_shared;
	uint32_t type_script;
	uint32_t type_bytecode;
	uint32_t type_scope;
	uint32_t type_code;

	uint32_t array_bytes; /* before a BytecodeArray's bytes */
	uint32_t array_positions;

	uint32_t code_bytes; /* of the head before the instructions */
	uint32_t
		code_deopt; /* DeoptimizationData, or of baseline code its BytecodeArray */
	uint32_t code_positions;
	uint32_t code_start; /* 0: the head is the Code itself */
	uint32_t code_size;

	uint32_t deopt_literals;
	uint32_t deopt_shared;
	uint32_t deopt_inlining;

	uint32_t early_position;
	uint32_t flagged;
	struct op_node_table_form form; /* of these two */
};

extern const struct op_layouts_schema op_runtime_node_layouts;

/*
 * Returns 1 with *@ret where @elf has V8 and its version is known; 0 where it has none;
 * -ENOTSUP, said in the log; -errno. @layouts: as op_runtime_ops.probe.
 */
int op_runtime_node_layout(struct op_elf *elf, const char *path,
			   const struct op_layouts *layouts, struct op_log *log,
			   struct op_node_layout *ret);

/* Its text, made of node.layout. */
extern const unsigned char op_runtime_node_layout_text[];
extern const size_t op_runtime_node_layout_text_len;

#endif
