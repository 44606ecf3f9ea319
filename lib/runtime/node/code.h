/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of the code of one process that frames named: bytecodes, and the machine code
 * that V8 generated from them. Machine code is found by a pc: a header precedes it and
 * leads to an object that leads back. Entries are compared with the process before each
 * use, and read again once a window. If the process is gone, the last state is used.
 */
#ifndef OP_RUNTIME_NODE_CODE_H
#define OP_RUNTIME_NODE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "runtime/node/heap.h"
#include "runtime/node/positions.h"

enum {
	/* bytes searched backwards from a pc for the code's start */
	OP_NODE_CODE_MAX = 1 << 20,
	/* words on the way that are examined closely for a pc */
	OP_NODE_HEADS_MAX = 64,
	/* entries of each kind; beyond that all are dropped */
	OP_NODE_CODES_MAX = 8192,
	/* the same limit for the bytes of tables and inlined calls */
	OP_NODE_CODES_BYTES = 8 << 20,
	OP_NODE_INLINED_MAX = 512, /* inlined calls of one piece of code */
	OP_NODE_OPCODES_MAX = 256,
	OP_NODE_HEAD_WORDS = 2,
};

/* The sizes of bytecodes in bytes, for three widths of operands. */
struct op_node_opcodes {
	uint8_t size[3 * OP_NODE_OPCODES_MAX];
	size_t count;
};

/* A BytecodeArray and its source position table. */
struct op_node_bytecode {
	uint64_t object;
	uint64_t owner;	    /* its function, as the caller numbers it; 0: not known */
	uint32_t window;    /* window in which it was read */
	uint64_t length;    /* tagged word; the table is valid while it is unchanged */
	uint64_t positions; /* tagged word */
	uint8_t *table;
	size_t table_len;
	uint8_t *bytes; /* the bytecodes, if baseline code needed them, or NULL */
	size_t bytes_len;
};

/* A function as it was when the code was read. The collector may move it later. */
struct op_node_owner {
	uint64_t shared; /* points to its SharedFunctionInfo, or 0 */
	uint32_t check;	 /* op_node_check() */
};

/* A call that was inlined. */
struct op_node_inlined {
	struct op_node_position call; /* place of the call */
	struct op_node_owner callee;
};

struct op_node_code {
	uint64_t start; /* [start, end): the instructions */
	uint64_t end;
	uint32_t window; /* window in which it was read */
	/* the header before them; code is valid while it is unchanged */
	uint64_t head[OP_NODE_HEAD_WORDS];
	uint64_t object; /* points to the Code, whose tables are these */
	uint64_t deopt;
	/* baseline code: points to its BytecodeArray, once known; else 0 */
	uint64_t bytecode;
	struct op_node_owner owner; /* optimised code: its function; else 0 */
	uint8_t *table; /* source positions, or bytecode offsets of baseline code */
	size_t table_len;
	struct op_node_inlined *inlined;
	size_t inlined_len;
};

struct op_node_codes {
	const struct op_node_heap *heap;
	const struct op_node_opcodes *opcodes;
	struct op_map64 bytecode_by_object;
	OP_VEC(struct op_node_bytecode) bytecodes;
	OP_VEC(struct op_node_code) all;
	uint32_t window;
	size_t bytecodes_bytes; /* bytes of their tables */
	size_t all_bytes;
	uint64_t heads_lost; /* searches that ended at OP_NODE_HEADS_MAX */
};

/* Borrows @heap and @opcodes. */
void op_runtime_node_codes_init(struct op_node_codes *codes,
				const struct op_node_heap *heap,
				const struct op_node_opcodes *opcodes);
void op_runtime_node_codes_clear(struct op_node_codes *codes);
/* Read the code at @pc anew when it is asked for. */
void op_runtime_node_code_forget(struct op_node_codes *codes, uint64_t pc);
void op_runtime_node_codes_window(struct op_node_codes *codes);

/*
 * The source position of the bytecode at @offset (from the object's first byte) of the
 * BytecodeArray to which @object points. @owner: a number for its function, which
 * identifies it after the process has ended; 0: none. Returns 0; -EBADMSG if it is not
 * one; an error of reading; -ENOMEM.
 */
int op_runtime_node_bytecode_position(struct op_node_codes *codes, uint64_t object,
				      uint64_t owner, uint32_t offset,
				      struct op_node_position *ret);
/* The BytecodeArray of the function @shared, or 0. */
uint64_t op_runtime_node_bytecode_of(const struct op_node_heap *heap, uint64_t shared);

/* The code that holds @pc. *@ret is borrowed until the next call. Returns 0, -ENOENT, an
 * error of reading, -ENOMEM. */
int op_runtime_node_code(struct op_node_codes *codes, uint64_t pc,
			 const struct op_node_code **ret);
/* The source position of @pc in @code, within its innermost inlined call. @shared: the
 * frame's function, or 0. @owner: as above. Returns -ENOENT if the code has none. */
int op_runtime_node_code_position(struct op_node_codes *codes,
				  const struct op_node_code *code, uint64_t shared,
				  uint64_t owner, uint64_t pc,
				  struct op_node_position *ret);

#endif
