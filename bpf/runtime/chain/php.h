/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the PHP step reads of the heap, in advance (event/chain.h): the heads of the chain,
 * and each frame with its function and the line of its instruction. */
#ifndef OP_PHP_CHAIN_H
#define OP_PHP_CHAIN_H

#include "bpf/runtime/chain/piece.h"
#include "bpf/runtime/php.h"

/* Begin with the innermost frame of slot @number's process or thread. Returns whether there is
 * one. A fiber's chain is not taken. */
__attribute__((noinline)) int op_php_chain_begin(__u32 number);
__attribute__((noinline)) int op_php_chain_begin(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_unwind *u;
	__u64 globals = 0;
	__u64 current;
	__u64 fiber;
	__u64 word;

	if (!slot)
		return 0;
	u = &slot->unwind;
	word = op_php_word(u, __builtin_offsetof(struct op_php, flags));
	op_state(u)->word[OP_PHP_BEGUN] = word;
	if ((OP_PHP_BYTE(word, flags) & OP_PHP_THREADS) != 0) {
		word = op_php_word(u, __builtin_offsetof(struct op_php, body_cfa));
		if (!u->process.thread_pointer ||
		    op_chain_word(number, u->process.thread_pointer + ((__s64)word >> 48),
				  8))
			return 0;
		globals = op_chain_got(u);
	}
	fiber = op_php_word(u, __builtin_offsetof(struct op_php, fiber));
	if (fiber && (op_chain_word(number, globals + fiber, 8) || op_chain_got(u)))
		return 0;
	current = op_php_word(u, __builtin_offsetof(struct op_php, current));
	if (op_chain_word(number, globals + current, 8))
		return 0;
	op_state(u)->word[OP_PHP_NEXT] = op_chain_got(u);
	return op_chain_got(u) != 0;
}

/* Take the function @function of slot @number's frame, which is in runtime_bytes, and tell
 * its name. Returns 0 or -1. */
__attribute__((noinline)) int op_php_chain_function(__u32 number, __u64 function);
__attribute__((noinline)) int op_php_chain_function(__u32 number, __u64 function)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_unwind *u;
	__u64 offsets;
	__u32 check = 0;

	if (!slot)
		return -1;
	u = &slot->unwind;
	offsets = op_php_word(u, __builtin_offsetof(struct op_php, fiber_context));
	if (op_php_read_function(u, function, (__u8)(offsets >> 48)) ||
	    op_chain_add(number, function, OP_PHP_READ_MAX, (__u8)(offsets >> 48) + 16,
			 0) ||
	    op_php_told(u, op_state(u)->word[OP_PHP_BEGUN], function, &check))
		return -1;
	return op_chain_add(number, op_runtime_word(u, OP_PHP_FRAME_WORDS, function), 0,
			    0, check);
}

/* Take the next frame of slot @number's chain. Returns whether another frame follows. */
__attribute__((noinline)) int op_php_chain_frame(__u32 number);
__attribute__((noinline)) int op_php_chain_frame(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_unwind *u;
	__u64 function;
	__u64 offsets;
	__u64 opline;
	__u64 frame;
	__u64 word;

	if (!slot)
		return 0;
	u = &slot->unwind;
	word = op_state(u)->word[OP_PHP_BEGUN];
	frame = op_state(u)->word[OP_PHP_NEXT];
	if (op_php_read(u, frame, word) ||
	    op_chain_add(number, frame, 0, OP_PHP_BYTE(word, frame_previous) + 8, 0))
		return 0;
	op_state(u)->word[OP_PHP_NEXT] =
		op_php_field(u, OP_PHP_BYTE(word, frame_previous));
	function = op_php_field(u, OP_PHP_BYTE(word, frame_function));
	opline = op_php_field(u, OP_PHP_BYTE(word, frame_opline));
	if (function) {
		if (op_php_chain_function(number, function))
			return 0;
		offsets =
			op_php_word(u, __builtin_offsetof(struct op_php, fiber_context));
		(void)op_chain_word(number, opline + (__u8)(offsets >> 56), 4);
	}
	return op_state(u)->word[OP_PHP_NEXT] != 0;
}

#endif
