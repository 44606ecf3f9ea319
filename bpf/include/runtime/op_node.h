/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Node.js (V8): what the step needs to know of a process, and the words of its frames.
 *
 * A JavaScript frame has three words:
 * word 0: the runtime's kind and the address of the SharedFunctionInfo, or 0 if the frame
 * does not tell it;
 * word 1: in the highest 4 bits enum op_node_kind; OP_NODE_LATE; in bits 32 to 55 the
 * bytecode offset, or the type of a frame that is not a function's; in the lowest 32 bits
 * which function it is: op_node_check();
 * word 2: the address of the BytecodeArray, or the pc.
 *
 * V8's builtins, which are part of the node binary, have native frames.
 */
#ifndef OP_NODE_H
#define OP_NODE_H

#include "op_records.h"

enum {
	OP_NODE_FRAME_WORDS = 3,
	OP_NODE_KIND_SHIFT = 60,
	OP_NODE_OFFSET_SHIFT = 32,
	OP_NODE_OFFSET_MAX = (1 << 24) - 1,
	/* promises that are read on the way through functions that await each other */
	OP_NODE_AWAITS_MAX = 64,
};

/* A flag of word 1: the process had run on when its heap was read. */
#define OP_NODE_LATE (1ULL << 59)

enum op_node_kind {
	/* word 2: its BytecodeArray; 0: at the function's start or end */
	OP_NODE_INTERPRETED = 0,
	OP_NODE_CODE = 1,	/* word 2: a return address in generated code */
	OP_NODE_CODE_EXACT = 2, /* word 2: an interrupted pc in generated code */
	OP_NODE_AWAITS = 3,	/* a suspended function; word 2: 0 */
};

/* Data of a process for the step. Slots are offsets in bytes below fp. Other offsets
 * are in bytes from an object's start. */
struct op_node {
	__u64 builtins; /* [builtins, builtins_end): V8's builtins in this mapping */
	__u64 builtins_end;
	__u64 code; /* [code, code_end): the largest range of generated code */
	__u64 code_end;
	/* [prologue, prologue_end): the builtin that begins baseline code */
	__u64 prologue;
	__u64 prologue_end;
	__u8 array_slot;      /* slot of the frame's BytecodeArray */
	__u8 offset_slot;     /* slot of the frame's bytecode offset */
	__u8 function_shared; /* in JSFunction: its SharedFunctionInfo */
	__u8 shared_id;	      /* in SharedFunctionInfo: its id in the script */
	__u8 shared_data; /* in SharedFunctionInfo: its code; 4 zero bytes: a builtin */
	__u8 compressed;  /* words of the heap have 4 bytes: small integers are doubled */
	__u8 shared_name; /* in SharedFunctionInfo: its name or ScopeInfo */
	__u8 shared_script;
	/* Types of objects between functions that await each other; 0: not followed. */
	__u16 type_async_function;
	__u16 type_async_generator;
	__u16 type_promise;
	__u16 type_reaction;
	__u16 type_capability;
	__u16 type_function;
	__u8 reaction_next; /* in a PromiseReaction: the next one, then its handlers */
	__u8 script_number; /* in a Script: the four bytes of its id */
	__u8 reserved[2];
	/* how to find the names of a function */
	struct op_object_step object[OP_OBJECT_STEPS];
};

_Static_assert(sizeof(struct op_node) == 72 + OP_OBJECT_STEPS * 8, "layout");

/* Identifies the function at an address: its id in its script, the lower halves of the
 * pointers to its name and to its script, and the script's id, which no later one gets.
 * After a collection the next function may have all of the others. */
static inline __attribute__((always_inline)) __u32
op_node_check(__u32 id, __u32 name, __u32 script, __u32 number)
{
	return (__u32)(op_object_id(op_object_id(id, name),
				    script | (__u64)number << 32) >>
		       32);
}

#endif
