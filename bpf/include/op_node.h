/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Node.js (V8): what the step needs of a process, and the words of its frames.
 *
 * A JavaScript frame has three words. Word 0: the runtime's kind and the address of the
 * SharedFunctionInfo, or 0 where the frame tells none. Word 1: enum op_node_kind in the
 * highest 4 bits, OP_NODE_LATE, in bits 32 to 55 the bytecode's offset or the type of a frame
 * that is no function's, and in the lowest 32 the function's id in its script. Word 2: the address of the BytecodeArray, or the pc.
 * Code that is part of the node binary (V8's builtins) makes native frames.
 */
#ifndef OP_NODE_H
#define OP_NODE_H

enum {
	OP_NODE_FRAME_WORDS = 3,
	OP_NODE_KIND_SHIFT = 60,
	OP_NODE_OFFSET_SHIFT = 32,
	OP_NODE_OFFSET_MAX = (1 << 24) - 1,
};

/* Word 1: the heap was read after the process went on. */
#define OP_NODE_LATE (1ULL << 59)

enum op_node_kind {
	OP_NODE_INTERPRETED =
		0,		/* word 2: its BytecodeArray, or 0: at its begin or end */
	OP_NODE_CODE = 1,	/* word 2: a return address in code that V8 made */
	OP_NODE_CODE_EXACT = 2, /* word 2: an interrupted pc in such code */
};

/* A process. Offsets in bytes; those of slots are below fp. */
struct op_node {
	__u64 builtins; /* [builtins, builtins_end): V8's own code in this mapping */
	__u64 builtins_end;
	__u64 code; /* [code, code_end): the largest range of code that it made */
	__u64 code_end;
	__u64 prologue; /* [prologue, prologue_end): the builtin that begins baseline code */
	__u64 prologue_end;
	__u8 array_slot;      /* the frame's BytecodeArray */
	__u8 offset_slot;     /* the frame's bytecode offset */
	__u8 function_shared; /* JSFunction: its SharedFunctionInfo */
	__u8 shared_id;	      /* SharedFunctionInfo: its id in the script */
	__u8 reserved0[4];
};

_Static_assert(sizeof(struct op_node) == 56, "layout");

#endif
