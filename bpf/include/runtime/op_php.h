/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * PHP: what the step needs to know of a process, and the words of its frames.
 *
 * A frame has two words:
 *   word 0  the zend_function's address
 *   word 1  low half: the line of the current instruction, 0: unknown or an internal function;
 *           from bit OP_PHP_CALL_SHIFT on, how it was called (OP_PHP_CALL_*)
 *           high half: that of the function's identity. It tells one from another that was at
 *           its address before or will be: a function that an eval() or a request made is
 *           freed with it, and the copy of one in a closure with the closure. What names it
 *           goes out when it is first met (OP_RECORD_OBJECT)
 *
 * The identity is op_object_id() of the address, the words that point to its name, its class and
 * its file's name, its lines, and the texts of the three names.
 */
#ifndef OP_PHP_H
#define OP_PHP_H

#include "op_records.h"

enum {
	OP_PHP_FRAME_WORDS = 2,
	OP_PHP_READ_MAX = 64, /* bytes read of a frame */
	/* bytes read of a function: up to its first and last line */
	OP_PHP_FUNCTION_MAX = 192,
	/* the common head of all types of function: type, flags, name, class */
	OP_PHP_FUNCTION_COMMON = 24,
	OP_PHP_FUNCTION_NAME = 8,
	OP_PHP_FUNCTION_SCOPE = 16,
	OP_PHP_CALL_SHIFT = 30,
	OP_PHP_CALL_CODE = 1 << 0, /* it is the code of a file or of an eval() */
	OP_PHP_CALL_TOP = 1 << 1,  /* C code called it */
	/* Where those bits are in a frame's type information (zend_compile.h). */
	OP_PHP_INFO_SHIFT = 16,
	OP_PHP_INFO_MASK = 3,
	/* The function of a frame with one of ZEND_CALL_CODE, _CLOSURE, _FAKE_CLOSURE
	 * may be freed when it returns. In 7.3 these are other bits. */
	OP_PHP_INFO_SHORT = 1 << 16 | 1 << 22 | 1 << 23,
	OP_PHP_INFO_SHORT_73 = 1 << 16 | 1 << 21 | 1 << 26,
	/* ZEND_ACC_IMMUTABLE, of the flags that follow zend_function.type: it is never
	 * freed */
	OP_PHP_FUNCTION_STAYS = 1 << 7,
	OP_PHP_FUNCTION_STAYS_73 = 1 << 25,
	/* ZEND_ACC_CALL_VIA_TRAMPOLINE: it is made for a call, as FFI's are */
	OP_PHP_FUNCTION_FOR_CALL = 1 << 18,
	OP_PHP_FUNCTION_FOR_CALL_73 = 1 << 21,
	OP_PHP_TYPE_INTERNAL = 1, /* value of zend_function.type */
	OP_PHP_STRING_HASH = 8,	  /* in zend_string; length and text follow it */
	OP_PHP_STRING_TEXT = 24,
	/* Bytes that are read of a text without a known hash: from its end, without the
	 * last ones, which are " : eval()'d code" in names of an eval()'s file. */
	OP_PHP_TEXT_BYTES = 32,
	OP_PHP_TEXT_END = 16,
	OP_PHP_CLASS_NAME = 8, /* in zend_class_entry */
	OP_PHP_OP_BYTES = 32,  /* of a zend_op */
};

#define OP_PHP_LINE_MASK ((1U << OP_PHP_CALL_SHIFT) - 1)

/* Flags of struct op_php. */
enum {
	/* The loop keeps its frame and its instruction in two registers (zend_vm_kind()
	 * is hybrid). The instruction that the frame records may be an older one. */
	OP_PHP_REGISTERS = 1 << 0,
	OP_PHP_BODY_FP = 1 << 1, /* body_cfa is an offset from fp, not from sp */
	OP_PHP_BITS_73 = 1 << 2, /* the bits of zend_compile.h are those of 7.3 */
	/* PHP is built for threads (ZTS): each has globals of its own. current and fiber
	 * are offsets in the block of them. */
	OP_PHP_THREADS = 1 << 3,
};

/* The C functions that begin an activation of the loop, by what the activation
 * executes. */
enum {
	OP_PHP_BEGINS_CODE = 0,	     /* zend_execute(): a file or an eval() */
	OP_PHP_BEGINS_FUNCTION = 1,  /* zend_call_function(): a function */
	OP_PHP_BEGINS_GENERATOR = 2, /* zend_generator_resume(): a generator */
	OP_PHP_BEGINNERS = 3,
};

/* Data of a process for the step. Offsets are in bytes. */
struct op_php {
	__u64 current; /* address of the pointer to the innermost frame */
	/* An address in the loop's body, or 0. JIT code runs in the loop's own stack
	 * frame, and the walk continues from it as if the pc were this address. */
	__u64 body;
	__u64 beginner[OP_PHP_BEGINNERS][2]; /* address range [first, end); 0: unknown */
	__u64 fiber; /* address of the pointer to the running fiber; 0: none */
	__u8 flags;
	__u8 frame_opline; /* these four: offsets in zend_execute_data */
	__u8 frame_function;
	__u8 frame_info;
	__u8 frame_previous;
	__u8 frame_register;  /* DWARF number of the register that holds the frame */
	__u8 opline_register; /* the register of the instruction */
	/* the register of a function's first argument; below 128 */
	__u8 argument_register;
	__u16 fiber_context; /* in zend_fiber: its own zend_fiber_context */
	__u16 fiber_caller;  /* in zend_fiber: the context that resumed it */
	__u16 fiber_bottom;  /* in zend_fiber: the frame below its first function's */
	__u8 function_file;  /* in zend_op_array: file name, first line, last line */
	__u8 op_line;	     /* in zend_op: the line number */
	__u32 body_cfa;	     /* the CFA of the loop's body, as an offset from sp or fp */
	__u8 function_opcodes; /* in zend_op_array: the instructions and their number */
	__u8 function_last;
	/* the pointer to a thread's block of globals (_tsrm_ls_cache), as an offset from
	 * its thread pointer */
	__s16 globals;
	/* how to find the names of a function */
	struct op_object_step object[OP_OBJECT_STEPS];
};

enum {
	OP_PHP_TEXT_WORDS = 2 + OP_PHP_TEXT_BYTES / 8,
};

/* Where to read the text of the zend_string at @addr, whose hash is not known. */
static inline __attribute__((always_inline)) __u64 op_php_text_at(__u64 addr,
								  __u64 length)
{
	__u64 cut = OP_PHP_TEXT_BYTES + OP_PHP_TEXT_END;

	return addr + OP_PHP_STRING_TEXT + (length > cut ? length - cut : 0);
}

/* Identity of a text: @word has its hash, its length, and the bytes that were read. */
static inline __attribute__((always_inline)) __u32
op_php_text_id(const __u64 word[OP_PHP_TEXT_WORDS])
{
	__u64 id = 0;
	__u32 i;

	for (i = 0; i < OP_PHP_TEXT_WORDS; i++)
		id = op_object_id(id, word[i]);
	return (__u32)(id >> 32);
}

_Static_assert(sizeof(struct op_php) == 208, "layout");

#endif
