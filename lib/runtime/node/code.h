/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code of one process, as far as frames named it: bytecodes, and the machine code that V8
 * made of them. Machine code is found by a pc: its head stands in front of it and leads to
 * an object that leads back. What is known is compared with the process before it is used,
 * and forgotten once a window.
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
	OP_NODE_CODE_MAX = 1 << 20, /* bytes from a pc back to where its code begins */
	OP_NODE_CODES_MAX = 8192,   /* of each kind; beyond, all are dropped */
	OP_NODE_INLINED_MAX = 4096, /* calls inlined in one code */
	OP_NODE_OPCODES_MAX = 256,
	OP_NODE_HEAD_WORDS = 2,
};

/* The numbers of bytes of bytecodes, for three widths of operands. */
struct op_node_opcodes {
	uint8_t size[3 * OP_NODE_OPCODES_MAX];
	size_t count;
};

/* A BytecodeArray. */
struct op_node_bytecode {
	uint64_t object;
	uint64_t length;    /* word as it was read; with table it must be the same */
	uint64_t positions; /* word */
	uint8_t *table;
	size_t table_len;
};

/* A call that was inlined. */
struct op_node_inlined {
	struct op_node_position call; /* where it stands */
	uint64_t shared;	      /* points to the function called, or 0 */
};

struct op_node_code {
	uint64_t start; /* [start, end): the instructions */
	uint64_t end;
	uint64_t head[OP_NODE_HEAD_WORDS]; /* in front of them; they must be the same */
	uint64_t
		bytecode; /* points to the BytecodeArray that baseline code is of, or 0 */
	uint64_t shared;  /* points to the function of optimized code, or 0 */
	uint8_t *table;	  /* source positions, or baseline code's bytecode offsets */
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
};

/* Borrows @heap and @opcodes. */
void op_runtime_node_codes_init(struct op_node_codes *codes,
				const struct op_node_heap *heap,
				const struct op_node_opcodes *opcodes);
void op_runtime_node_codes_clear(struct op_node_codes *codes);

/* The place of bytecode @offset (from the object's first byte) of the BytecodeArray that
 * @object points to. Returns 0, -EBADMSG where it is none, the error of reading, -ENOMEM. */
int op_runtime_node_bytecode_position(struct op_node_codes *codes, uint64_t object,
				      uint32_t offset, struct op_node_position *ret);

/* The code that holds @pc. *@ret is borrowed until the next call. Returns 0, -ENOENT, the
 * error of reading, -ENOMEM. */
int op_runtime_node_code(struct op_node_codes *codes, uint64_t pc,
			 const struct op_node_code **ret);
/* The place of @pc in it, of its innermost inlined call. @shared: the function that the frame
 * is of, or 0. -ENOENT where none is noted. */
int op_runtime_node_code_position(struct op_node_codes *codes,
				  const struct op_node_code *code, uint64_t shared,
				  uint64_t pc, struct op_node_position *ret);

#endif
