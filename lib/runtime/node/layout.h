/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of V8's objects. The node binary publishes much of it for debuggers, as int
 * variables v8dbg_*; node.layout has a section for each version with the rest. See
 * docs/runtimes/node.md.
 */
#ifndef OP_RUNTIME_NODE_LAYOUT_H
#define OP_RUNTIME_NODE_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "code/elf/file.h"
#include "runtime/layouts.h"
#include "runtime/node/positions.h"

/* Offsets in bytes that are the same in all known versions (and published as well), for
 * tagged words of eight bytes. op_node_offset() gives them for other sizes. */
enum {
	OP_NODE_MAP_TYPE = 12, /* Map: instance type, 16 bits */
	OP_NODE_LENGTH = 8,    /* FixedArray, ByteArray, BytecodeArray */
	OP_NODE_ELEMENTS = 16,
	OP_NODE_SHARED_CODE = 8, /* SharedFunctionInfo: its code, or a builtin's number */
	OP_NODE_SCRIPT_SOURCE = 8,
	OP_NODE_SCRIPT_NAME = 16,
	OP_NODE_SCRIPT_LINE_OFFSET = 24,
	OP_NODE_SCRIPT_COLUMN_OFFSET = 32,
	OP_NODE_SCRIPT_LINE_ENDS = 56,
	OP_NODE_SCRIPT_ID = 64,
};

/* Instance types, in a Map. */
struct op_node_types {
	uint32_t first_nonstring;
	uint32_t shared;
	uint32_t script;
	uint32_t bytecode;
	uint32_t scope;
	uint32_t code;
	/* 0: not published */
	uint32_t async_function;
	uint32_t async_generator;
	uint32_t promise;
	uint32_t reaction;
	uint32_t capability;
	uint32_t function;
	uint32_t reaction_next; /* offset, in a PromiseReaction */
};

/* The first FunctionKind of initializers of a class's members. 0: initializers have names of
 * their own. */
struct op_node_initializers {
	uint32_t members;
	uint32_t static_members;
};

/* Offsets in bytes; slots are below fp; deoptimization data counts in words. */
struct op_node_layout {
	uint32_t array_slot;
	uint32_t offset_slot;
	uint32_t function_shared;

	uint32_t frame_wasm; /* type of WebAssembly frames, or 0 */

	uint32_t shared_name;
	uint32_t shared_script;
	uint32_t shared_token;
	uint32_t shared_id;

	uint32_t script_url; /* in a Script: its source URL; 0: not known */

	uint32_t scope_slots; /* offset of a ScopeInfo's words */
	uint32_t scope_fixed; /* words before the locals */
	/* the word with the first position; 0: after the names */
	uint32_t scope_position;

	struct op_node_types type;

	uint32_t array_bytes; /* bytes of a BytecodeArray before the bytecodes */
	uint32_t array_positions;

	uint32_t code_bytes; /* bytes of the header before the instructions */
	uint32_t code_deopt; /* DeoptimizationData; baseline code: its BytecodeArray */
	uint32_t code_start; /* 0: the header is the Code itself */
	uint32_t code_size;

	uint32_t deopt_literals;
	uint32_t deopt_shared;
	uint32_t deopt_inlining;

	/* bytes of a tagged word: 4 if pointers are compressed, else 8 */
	uint32_t tagged;
	/* an array's length is no small integer, except a BytecodeArray's */
	uint32_t raw_lengths;
	uint32_t array_length; /* in a BytecodeArray: its length */
	/* BytecodeArrays and Codes are in 4 GiB of their own, and a SharedFunctionInfo
	 * has a handle of its code in place of a pointer */
	uint32_t trusted;

	struct op_node_initializers initializer;

	uint32_t early_position;
	uint32_t flag_bits;
	struct op_node_table_form form; /* made from these two */
};

static inline bool op_node_is_compressed(const struct op_node_layout *layout)
{
	return layout->tagged == sizeof(uint32_t);
}

static inline uint32_t op_node_offset(const struct op_node_layout *layout,
				      uint32_t offset)
{
	return op_node_is_compressed(layout) ? offset / 2 : offset;
}

/* In a Script: the four bytes of its id, which is a small integer. */
static inline uint32_t op_node_script_number(const struct op_node_layout *layout)
{
	return op_node_is_compressed(layout) ? OP_NODE_SCRIPT_ID / 2
					     : OP_NODE_SCRIPT_ID + 4;
}

/* In a Code: its source positions. */
static inline uint32_t op_node_code_positions(const struct op_node_layout *layout)
{
	return layout->code_deopt + op_node_offset(layout, 8);
}

extern const struct op_layouts_schema op_runtime_node_layouts;

/* May @elf export V8's version? Few other files seem to. */
bool op_runtime_node_may_export(struct op_elf *elf);
/* Returns 1 with *@ret if @elf contains a known version of V8; 0 if it has no V8;
 * -ENOTSUP, with a warning in the log; or -errno. @layouts: as op_runtime_ops.probe. */
int op_runtime_node_layout(struct op_elf *elf, const char *path,
			   const struct op_layouts *layouts, struct op_log *log,
			   struct op_node_layout *ret);

/* The same for the version "15.6" of V8 that publishes nothing: its section must have
 * all numbers. */
int op_runtime_node_layout_of(const char *version, const char *path,
			      const struct op_layouts *layouts, struct op_log *log,
			      struct op_node_layout *ret);

/* The text of node.layout. */
extern const unsigned char op_runtime_node_layout_text[];
extern const size_t op_runtime_node_layout_text_len;

#endif
