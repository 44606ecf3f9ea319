/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the parts of the PHP step: the words of its state, and a frame that is read
 * and pushed, with the identity of its function. */
#ifndef OP_PHP_FRAME_H
#define OP_PHP_FRAME_H

#include "bpf/walk/unwind.h"
#include "op_php.h"

/* Numbers of op_state(u)->word. */
enum {
	OP_PHP_NEXT = 0, /* the next frame to push, or 0 */
	/* word 2 of op_php, with a bit that is always set; 0: the walk has not begun */
	OP_PHP_BEGUN = 1,
	OP_PHP_RUN = 2,	   /* position in a run: enum op_php_run */
	OP_PHP_FIBER = 3,  /* the fiber whose stack is walked, or 0 */
	OP_PHP_FIRST = 4,  /* first frame of the run */
	OP_PHP_PUSHED = 5, /* count of words and frames before the run */
	OP_PHP_LEAF = 6,   /* outermost generator that waits, and OP_PHP_OLD_NODE; or 0 */
	/* the generator for which it waits, whose frame is pushed */
	OP_PHP_GENERATOR = 7,
	OP_PHP_CALLER = 8, /* the frame that the outermost generator runs for */
	OP_PHP_RETURN = 9, /* return_value of the frame pushed last */
};

enum op_php_run {
	OP_PHP_RUN_NONE = 0,
	OP_PHP_RUN_INTERNAL = 1, /* only internal functions so far */
	OP_PHP_RUN_CODE = 2,	 /* PHP code; PHP code called it too */
};

enum {
	OP_PHP_BEGUN_BIT = 63, /* of argument_register of struct op_php, which is small */
};

/* Byte @member of word 2 of the process's struct op_php. */
#define OP_PHP_BYTE(word, member)                                                        \
	((__u8)((word) >> (__builtin_offsetof(struct op_php, member) % 8 * 8)))

/* The word at offset @off of the process's struct op_php. */
static __always_inline __u64 op_php_word(struct op_unwind *u, __u32 off)
{
	return op_runtime_u64(u, off);
}

static __always_inline __u64 op_php_field(struct op_unwind *u, __u32 off)
{
	return *(__u64 *)(u->runtime_bytes + (off & (OP_PHP_READ_MAX - 8)));
}

/* The word at offset @off of the function in runtime_bytes, behind the frame. */
static __always_inline __u64 op_php_of_function(struct op_unwind *u, __u32 off)
{
	return *(__u64 *)(u->runtime_bytes +
			  ((off + OP_PHP_READ_MAX) & (OP_RUNTIME_BYTES - 8)));
}

/* Read the frame at @frame into runtime_bytes. */
static __always_inline int op_php_read(struct op_unwind *u, __u64 frame, __u64 word)
{
	__u32 len = OP_PHP_BYTE(word, frame_previous) + 8;

	op_platform_bound(len);
	if (len > OP_PHP_READ_MAX)
		len = OP_PHP_READ_MAX;
	return op_platform_read_chain(u, u->runtime_bytes, len, frame) ? -1 : 0;
}

/* How the frame in runtime_bytes was called: a set of OP_PHP_CALL_*. */
static __always_inline __u64 op_php_call(struct op_unwind *u, __u64 word)
{
	return op_php_field(u, OP_PHP_BYTE(word, frame_info)) >> OP_PHP_INFO_SHIFT &
	       OP_PHP_INFO_MASK;
}

/* Identify the function @function in runtime_bytes. Returns the high half of its
 * identity. @file: the place of its file's name, or 0. */
static __always_inline __u32 op_php_identify(struct op_unwind *u, __u64 function,
					     __u32 file)
{
	__u64 name = op_php_of_function(u, OP_PHP_FUNCTION_NAME);
	__u64 scope = op_php_of_function(u, OP_PHP_FUNCTION_SCOPE);
	__u64 id = op_object_id(op_object_id(function, name), scope);

	id = op_object_id(id, op_platform_php_text(u, name));
	if (scope) {
		name = 0;
		(void)op_platform_read(u, &name, sizeof(name), scope + OP_PHP_CLASS_NAME);
		id = op_object_id(id, op_platform_php_text(u, name));
	}
	if (file) {
		name = op_php_of_function(u, file);
		id = op_object_id(id, name);
		id = op_object_id(id, op_php_of_function(u, file + 8));
		id = op_object_id(id, op_platform_php_text(u, name));
	}
	return (__u32)(id >> 32);
}

/* Read the function behind the frame in runtime_bytes. An internal one is shorter than others. */
static __always_inline int op_php_read_function(struct op_unwind *u, __u64 function,
						__u32 file)
{
	__u32 len = file + 16;

	op_platform_bound(len);
	if (len > OP_PHP_FUNCTION_MAX)
		len = OP_PHP_FUNCTION_MAX;
	if (!op_platform_read_chain(u, u->runtime_bytes + OP_PHP_READ_MAX, len, function))
		return 0;
	return op_platform_read_chain(u, u->runtime_bytes + OP_PHP_READ_MAX,
				      OP_PHP_FUNCTION_COMMON, function)
		       ? -1
		       : 0;
}

/* Does the function in runtime_bytes live as long as the process? @info: of its frame. */
static __always_inline bool op_php_stays(struct op_unwind *u, __u64 word, __u64 info)
{
	bool is_73 = OP_PHP_BYTE(word, flags) & OP_PHP_BITS_73;
	__u64 head = op_php_of_function(u, 0); /* its type and its flags */
	__u64 flags = head >> 32;

	if ((__u8)head == OP_PHP_TYPE_INTERNAL)
		return !(flags & (is_73 ? OP_PHP_FUNCTION_FOR_CALL_73
					: OP_PHP_FUNCTION_FOR_CALL));
	return flags & (is_73 ? OP_PHP_FUNCTION_STAYS_73 : OP_PHP_FUNCTION_STAYS) &&
	       !(info & (is_73 ? OP_PHP_INFO_SHORT_73 : OP_PHP_INFO_SHORT));
}

/* Is the function in runtime_bytes an internal one? PHP code alone calls PHP code. */
static __always_inline bool op_php_internal(struct op_unwind *u)
{
	return op_state(u)->word[OP_PHP_RUN] != OP_PHP_RUN_CODE &&
	       (__u8)op_php_of_function(u, 0) == OP_PHP_TYPE_INTERNAL;
}

/* The line of the instruction at @opline. 0: it is not one of the function in
 * runtime_bytes, because a frame may have one that an earlier frame left in its memory. */
static __always_inline __u32 op_php_line(struct op_unwind *u, __u64 opline, __u8 line_at)
{
	__u64 at = op_php_word(u, __builtin_offsetof(struct op_php, body_cfa)) >> 32;
	__u64 opcodes = op_php_of_function(u, (__u8)at);
	__u32 last = (__u8)(at >> 8);
	__u32 count = (__u32)(op_php_of_function(u, last) >> (last % 8 * 8));
	__u32 line = 0;

	if (opline - opcodes >= (__u64)count * OP_PHP_OP_BYTES ||
	    op_platform_read_chain(u, &line, sizeof(line), opline + line_at) ||
	    line > OP_PHP_LINE_MASK)
		return 0;
	return line;
}

/* Identify @function, which is in runtime_bytes behind its frame, and tell what names it.
 * Returns 0 or -1. */
static __always_inline int op_php_told(struct op_unwind *u, __u64 word, __u64 function,
				       __u32 *ret)
{
	__u64 offsets = op_php_word(u, __builtin_offsetof(struct op_php, fiber_context));
	__u64 info = op_php_field(u, OP_PHP_BYTE(word, frame_info));
	__u64 object = op_runtime_word(u, OP_PHP_FRAME_WORDS, function);
	bool made = (__u8)op_php_of_function(u, 0) != OP_PHP_TYPE_INTERNAL;
	bool stays = op_php_stays(u, word, info);

	if (op_platform_has_chain(u))
		return op_platform_object_known(u, object, ret) ? 0 : -1;
	if (stays && op_platform_object_known(u, object, ret))
		return 0;
	*ret = op_php_identify(u, function, made ? (__u8)(offsets >> 48) : 0);
	op_platform_object(u, __builtin_offsetof(struct op_php, object), object, *ret,
			   !stays);
	return 0;
}

/* Push the frame of @function, which is in runtime_bytes behind the frame. Returns 0, or -1
 * if the function is not known. */
static __always_inline int op_php_push(struct op_unwind *u, __u64 word, __u64 function,
				       __u64 opline)
{
	__u64 offsets = op_php_word(u, __builtin_offsetof(struct op_php, fiber_context));
	__u32 check = 0;

	if (op_php_told(u, word, function, &check))
		return -1;
	op_push_word(u, op_runtime_word(u, OP_PHP_FRAME_WORDS, function));
	op_push_word(u, (opline ? op_php_line(u, opline, (__u8)(offsets >> 56)) : 0) |
				op_php_call(u, word) << OP_PHP_CALL_SHIFT |
				(__u64)check << 32);
	u->out.frames++;
	return 0;
}

#endif
