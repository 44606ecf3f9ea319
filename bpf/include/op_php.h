/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * PHP: what the step needs to know of a process, and the words of its frames.
 *
 * A named function has a frame of two words:
 *   word 0  the zend_function's address
 *   word 1  the address of the current instruction (zend_op), 0 for an internal
 *           function;
 *           from bit OP_PHP_CALL_SHIFT on, how it was called (OP_PHP_CALL_*);
 *           from bit OP_PHP_GUARD_SHIFT on, the upper bits of op_php_string_guard() of
 *           its file's name. Without OPcache the next request frees it, and may have
 *           another file's function at the same address. 0: it stays, or the name could
 *           not be read
 *
 * The function of a closure, of a file or of an eval() may be freed as soon as it
 * returns. Its frame holds what user space would otherwise read later, and has four
 * words:
 *   word 0  the address of the function's name, 0: none
 *   word 1  the address of its class, 0: none; above OP_PHP_CALL_SHIFT the same as above
 *   word 2  the address of its file's name, 0: none; above OP_PHP_CALL_SHIFT
 *           op_php_string_guard() of it
 *   word 3  low half: the line, 0: unknown; high half: the function's first line
 */
#ifndef OP_PHP_H
#define OP_PHP_H

enum {
	OP_PHP_FRAME_WORDS = 2,
	OP_PHP_COPY_WORDS = 4,
	OP_PHP_READ_MAX = 64, /* bytes read of a frame */
	OP_PHP_CALL_SHIFT = 48,
	OP_PHP_CALL_CODE = 1 << 0, /* it is the code of a file or of an eval() */
	OP_PHP_CALL_TOP = 1 << 1,  /* C code called it */
	/* it is the code of an eval(); in four-word frames only */
	OP_PHP_CALL_EVAL = 1 << 2,
	OP_PHP_GUARD_SHIFT = 51,
	OP_PHP_GUARD_CUT = 3, /* bits of op_php_string_guard() that have no room */
	/* Where those bits are in a frame's type information (zend_compile.h). */
	OP_PHP_INFO_SHIFT = 16,
	OP_PHP_INFO_MASK = 3,
	/* Frames with one of ZEND_CALL_CODE, _CLOSURE, _FAKE_CLOSURE have four words; in
	 * 7.3 these are other bits. */
	OP_PHP_INFO_COPY = 1 << 16 | 1 << 22 | 1 << 23,
	OP_PHP_INFO_COPY_73 = 1 << 16 | 1 << 21 | 1 << 26,
	/* ZEND_ACC_IMMUTABLE, of the flags that follow zend_function.type: it stays */
	OP_PHP_FUNCTION_STAYS = 1 << 7,
	OP_PHP_FUNCTION_STAYS_73 = 1 << 25,
	OP_PHP_TYPE_INTERNAL = 1, /* value of zend_function.type */
	OP_PHP_TYPE_EVAL = 4,
	OP_PHP_STRING_HASH = 8, /* in zend_string; the length follows it */
};

#define OP_PHP_OPLINE_MASK ((1ULL << OP_PHP_CALL_SHIFT) - 1)

/* Flags of struct op_php. */
enum {
	/* The loop keeps its frame and its instruction in two registers (zend_vm_kind()
	 * is hybrid); the instruction that the frame records may be an older one. */
	OP_PHP_REGISTERS = 1 << 0,
	OP_PHP_BODY_FP = 1 << 1, /* body_cfa is an offset from fp, not from sp */
	OP_PHP_BITS_73 = 1 << 2, /* the bits of zend_compile.h are those of 7.3 */
};

/* The C functions that begin an activation of the loop, by what the activation runs. */
enum {
	OP_PHP_BEGINS_CODE = 0,	     /* zend_execute(): a file or an eval() */
	OP_PHP_BEGINS_FUNCTION = 1,  /* zend_call_function(): a function */
	OP_PHP_BEGINS_GENERATOR = 2, /* zend_generator_resume(): a generator */
	OP_PHP_BEGINNERS = 3,
};

/* What the step needs to know of a process. Offsets are in bytes. */
struct op_php {
	__u64 current; /* address of the pointer to the innermost frame */
	/* An address in the loop's body, or 0. JIT code runs in the loop's own stack
	 * frame, and the walk goes on from it as if the pc were this address. */
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
	__u32 reserved0;
};

/*
 * 16 bits of a zend_string's hash and length, which tell it from another at its address.
 */
static inline __attribute__((always_inline)) __u64 op_php_string_guard(__u64 hash,
								       __u64 length)
{
	__u64 mix = (hash ^ length) * 0x9e3779b97f4a7c15ULL;

	return mix >> 48;
}

_Static_assert(sizeof(struct op_php) == 96, "layout");

#endif
