/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what a tiny accessor function of a runtime or libc computes, from its machine
 * code. The decoder follows one straight path through a function of a few dozen
 * instructions, and keeps what is known of each register. It finds one of two values:
 * the first argument of the first function that is called or jumped to, or the return
 * value.
 *
 * It is used only if nothing published gives the same information.
 */
#ifndef OP_CODE_DECODE_DECODE_H
#define OP_CODE_DECODE_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

enum op_decode_kind {
	OP_DECODE_UNKNOWN = 0,
	OP_DECODE_CONST,     /* the number `at` */
	OP_DECODE_MEMORY,    /* 4 bytes read at address `at` */
	OP_DECODE_TP,	     /* the thread pointer + `at` */
	OP_DECODE_TP_MEMORY, /* 8 bytes read at thread pointer + `at` */
	OP_DECODE_ARGUMENT,  /* the function's own first argument */
	/* 8 bytes read at (8 bytes read at thread pointer + at) + argument * scale */
	OP_DECODE_TP_INDEXED,
};

struct op_decode_value {
	enum op_decode_kind kind;
	uint32_t scale;
	uint64_t at;
};

enum {
	OP_DECODE_BYTES = 256, /* bytes of code that are decoded */
	OP_DECODE_STEPS = 64,  /* instructions that are followed */
};

enum op_decode_want {
	OP_DECODE_CALL,	  /* the first argument at the first call */
	OP_DECODE_RETURN, /* the result */
};

struct op_decode_input {
	const uint8_t *code;
	size_t len;
	uint64_t addr;			/* process address of code[0] */
	const struct op_memory *memory; /* memory for pointers that the code loads */
	enum op_decode_want want;
};

/* Returns 0 with *@ret (of kind UNKNOWN if the value cannot be determined), or -ENOTSUP
 * if the code is not understood. */
int op_decode_x86_64(const struct op_decode_input *in, struct op_decode_value *ret);
int op_decode_aarch64(const struct op_decode_input *in, struct op_decode_value *ret);

/* The value of a load of @bytes bytes from address @at. */
struct op_decode_value op_decode_load(const struct op_decode_input *in,
				      struct op_decode_value at, uint32_t bytes);

#endif
