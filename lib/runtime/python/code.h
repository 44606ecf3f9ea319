/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code objects of one process, as far as frames named them: name, file, first line and
 * line table, read once. An entry is checked against the process (one read) once a window,
 * because a code object's memory may have been given to another function since.
 */
#ifndef OP_RUNTIME_PYTHON_CODE_H
#define OP_RUNTIME_PYTHON_CODE_H

#include <stdint.h>

#include "base/memory.h"
#include "runtime/objects.h"
#include "runtime/python/layout.h"

enum {
	OP_PYTHON_CODES_MAX = 16384, /* entries; beyond, all are dropped and read anew */
	OP_PYTHON_CODES_BYTES = 4 << 20, /* of their strings and tables; the same */
};

struct op_python_code {
	uint64_t addr;
	uint64_t cookie; /* hash of the object's constant members */
	uint32_t check;	 /* of the frames that name it: op_python.h */
	uint32_t window; /* in which it was checked last */
	uint32_t first_line;
	uint32_t lines_len;
	uint32_t file;	/* where in text the file's name begins */
	uint32_t lines; /* and the line table */
	char text[];	/* name, NUL, file, NUL, line table */
};

struct op_python_codes {
	const struct op_memory *memory;
	const struct op_python_layout *layout;
	uint64_t code_type; /* address of PyCode_Type; 0: not checked */
	struct op_objects objects;
	uint32_t window;
	uint64_t reads;	  /* objects read whole */
	uint64_t changed; /* of them: the address was another function's before */
};

/* Borrows @memory and @layout. */
void op_runtime_python_codes_init(struct op_python_codes *codes,
				  const struct op_memory *memory,
				  const struct op_python_layout *layout,
				  uint64_t code_type);
void op_runtime_python_codes_deinit(struct op_python_codes *codes);

/* The code object at @addr. *@ret is borrowed until the next call. Returns 0; -EBADMSG
 * where there is none; the error of reading; -ENOMEM. */
int op_runtime_python_codes_get(struct op_python_codes *codes, uint64_t addr,
				uint32_t check, const struct op_python_code **ret);

#endif
