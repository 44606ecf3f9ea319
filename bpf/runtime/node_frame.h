/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the Node.js step knows of a process, and how it pushes the frame of a function. */
#ifndef OP_NODE_FRAME_H
#define OP_NODE_FRAME_H

#include "bpf/walk/unwind.h"
#include "op_node.h"

enum {
	OP_NODE_SHARED_BYTES = 64, /* bytes read of a SharedFunctionInfo */
};

#define OP_NODE_WORD(v, member)                                                          \
	op_slab_u64((v)->slab, (v)->at, __builtin_offsetof(struct op_node, member) / 8)
#define OP_NODE_BYTE(v, member)                                                          \
	((__u8)(op_slab_u64((v)->slab, (v)->at,                                          \
			    __builtin_offsetof(struct op_node, member) / 8) >>           \
		(__builtin_offsetof(struct op_node, member) % 8 * 8)))

static __always_inline void op_node_push(struct op_unwind *u, __u64 shared, __u64 where,
					 __u64 address)
{
	op_push_word(u, op_runtime_word(u, OP_NODE_FRAME_WORDS, shared));
	op_push_word(u, where | (u->heap_moved ? OP_NODE_LATE : 0));
	op_push_word(u, address & OP_FRAME_ADDRESS_MASK);
	u->out.frames++;
}

/* The function that a frame runs, as far as it is known. */
struct op_node_callee {
	__u64 shared; /* its SharedFunctionInfo, or 0 */
	__u32 check;  /* op_node_check() */
	bool builtin; /* its code is a builtin, not bytecode */
};

/* Four of the bytes last read, from offset @at on, which is a multiple of 4. */
static __always_inline __u32 op_node_member(struct op_unwind *u, __u8 at)
{
	return *(__u32 *)(u->runtime_bytes + (at & (OP_NODE_SHARED_BYTES - 4)));
}

static __always_inline void op_node_find_callee(struct op_unwind *u,
						const struct op_runtime_view *v,
						__u64 function,
						struct op_node_callee *ret)
{
	__u32 at = OP_NODE_BYTE(v, shared_id) & (OP_NODE_SHARED_BYTES - 4);
	__u64 shared = 0;
	__u64 script;
	__u64 word;
	__u32 number = 0;

	*ret = (struct op_node_callee){ 0 };
	if (!(function & 1) ||
	    op_platform_read(u, &shared, sizeof(shared),
			     function - 1 + OP_NODE_BYTE(v, function_shared)))
		return;
	if (OP_NODE_BYTE(v, compressed))
		shared = (function & ~0xffffffffULL) | (__u32)shared;
	if (!(shared & 1))
		return;
	word = op_runtime_word(u, OP_NODE_FRAME_WORDS, shared - 1);
	if (op_platform_object_known(u, word, &ret->check)) {
		ret->shared = shared - 1;
		return;
	}
	if (op_platform_read(u, u->runtime_bytes, at + 4, shared - 1))
		return;
	ret->shared = shared - 1;
	/* a builtin's number is in the upper half of the word, or in the next one */
	ret->builtin = !op_node_member(u, OP_NODE_BYTE(v, shared_data));
	script = op_node_member(u, OP_NODE_BYTE(v, shared_script));
	script |= OP_NODE_BYTE(v, compressed)
			  ? shared & ~0xffffffffULL
			  : (__u64)op_node_member(u, OP_NODE_BYTE(v, shared_script) + 4)
				    << 32;
	if (op_platform_read(u, &number, sizeof(number),
			     script - 1 + OP_NODE_BYTE(v, script_number)))
		number = 0;
	ret->check = op_node_check(op_node_member(u, at),
				   op_node_member(u, OP_NODE_BYTE(v, shared_name)),
				   (__u32)script, number);
	if (!ret->builtin && !OP_NODE_BYTE(v, compressed))
		op_platform_object(u, __builtin_offsetof(struct op_node, object), word,
				   ret->check, false);
}

#endif
