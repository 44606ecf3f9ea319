/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what BEAM tells debuggers of a module: the functions of its code, and their lines
 * (jit/beam_jit_metadata.cpp of OTP 25 to 28). The bytes are the process's and not to be trusted.
 */
#ifndef OP_RUNTIME_BEAM_MODULE_H
#define OP_RUNTIME_BEAM_MODULE_H

#include <stddef.h>
#include <stdint.h>

enum {
	OP_BEAM_MODULE_HEAD =
		26, /* the bytes that op_runtime_beam_module() wants at least */
	OP_BEAM_EMULATOR_BYTES = 24,
};

struct op_beam_module {
	uint64_t base; /* address of its code */
	uint32_t size; /* of the code */
};

struct op_beam_function {
	uint64_t start; /* [start, end), addresses */
	uint64_t end;
	const char *name;    /* "module:function/arity"; borrowed from the bytes */
	const char *file;    /* "" if unknown; borrowed as well */
	uint32_t line;	     /* 0: unknown */
	uint32_t start_line; /* 0: unknown */
};

/* Where a process's first function returns to, if @bytes are about the emulator itself. Returns 1,
 * 0 or -EBADMSG. */
int op_runtime_beam_emulator(const void *bytes, size_t len, uint64_t *ret_exit);

/* The code of the module. @bytes may end early. Returns 1, 0 if they are about no module, or
 * -EBADMSG. */
int op_runtime_beam_module(const void *bytes, size_t len, struct op_beam_module *ret);

/* The function that holds @addr, perhaps in what is before its first instruction, or with @name the first one of that name. Returns 1, 0 or
 * -EBADMSG. */
int op_runtime_beam_function(const void *bytes, size_t len, uint64_t addr,
			     const char *name, struct op_beam_function *ret);

#endif
