/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the text of a module that BEAM provides for debuggers: the functions of its
 * code, and their lines (jit/beam_jit_metadata.cpp of OTP 25 to 28). The bytes are the
 * process's and not to be trusted.
 */
#ifndef OP_RUNTIME_BEAM_MODULE_H
#define OP_RUNTIME_BEAM_MODULE_H

#include <stddef.h>
#include <stdint.h>

enum {
	OP_BEAM_MODULE_HEAD = 26, /* bytes that op_runtime_beam_module() needs at least */
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

/* The return address of a process's first function, if @bytes are the emulator's own
 * text. Returns 1, 0 or -EBADMSG. */
int op_runtime_beam_emulator(const void *bytes, size_t len, uint64_t *ret_exit);

/* The code of the module. @bytes may end early. Returns 1, 0 if they are not a module's
 * text, or -EBADMSG. */
int op_runtime_beam_module(const void *bytes, size_t len, struct op_beam_module *ret);

/* The function that contains @addr (the code before its first instruction included), or
 * with @name the first one of that name. Returns 1, 0 or -EBADMSG. */
int op_runtime_beam_function(const void *bytes, size_t len, uint64_t addr,
			     const char *name, struct op_beam_function *ret);

#endif
