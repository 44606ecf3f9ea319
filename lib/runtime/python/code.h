/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of the code objects of one process that frames named: name, file, first line
 * and line table. Once a window an entry is checked against the process (one read),
 * because a code object's memory may have been reused for another function.
 */
#ifndef OP_RUNTIME_PYTHON_CODE_H
#define OP_RUNTIME_PYTHON_CODE_H

#include <stdint.h>

#include "base/memory.h"
#include "runtime/objects.h"
#include "runtime/python/layout.h"

enum {
	/* entries; beyond that all are dropped and read again */
	OP_PYTHON_CODES_MAX = 16384,
	/* the same limit for the bytes of strings and tables */
	OP_PYTHON_CODES_BYTES = 4 << 20,
};

struct op_python_code {
	uint64_t addr;
	uint64_t cookie; /* hash of the object's constant members */
	uint32_t check;	 /* check value of the frames that name it: op_python.h */
	uint32_t window; /* the window of the last check */
	uint32_t first_line;
	uint32_t lines_len;
	uint32_t file;	/* offset of the file's name in text */
	uint32_t lines; /* offset of the line table */
	char text[];	/* name, NUL, file, NUL, line table */
};

struct op_python_codes {
	const struct op_memory *memory;
	const struct op_python_layout *layout;
	uint64_t code_type; /* address of PyCode_Type; 0: not checked */
	struct op_objects objects;
	uint32_t window;
	uint64_t reads;	  /* objects read whole */
	uint64_t changed; /* reads that found another function at the address */
};

/* Borrows @memory and @layout. */
void op_runtime_python_codes_init(struct op_python_codes *codes,
				  const struct op_memory *memory,
				  const struct op_python_layout *layout,
				  uint64_t code_type);
void op_runtime_python_codes_deinit(struct op_python_codes *codes);

/* Get the code object at @addr. *@ret is borrowed until the next call. Returns 0;
 * -EBADMSG if there is none; an error of reading; -ENOMEM. */
int op_runtime_python_codes_get(struct op_python_codes *codes, uint64_t addr,
				uint32_t check, const struct op_python_code **ret);

#endif
