/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of the code objects of one process that frames named: name, file, first line
 * and line table. A frame identifies an object by its address and its identity, because
 * the memory may have belonged to another object, and may again. Most objects come as
 * copies that the kernel made. Missing parts are read from the process.
 */
#ifndef OP_RUNTIME_PYTHON_CODE_H
#define OP_RUNTIME_PYTHON_CODE_H

#include <stdbool.h>
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
	uint32_t check;	 /* its identity in frames: op_python.h */
	uint32_t window; /* the window in which it was last read */
	bool whole;	 /* otherwise its line table was cut off */
	bool has_lines;	 /* otherwise its line table was */
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
	uint64_t changed; /* reads that found another object at the address */
};

/* Borrows @memory and @layout. */
void op_runtime_python_codes_init(struct op_python_codes *codes,
				  const struct op_memory *memory,
				  const struct op_python_layout *layout,
				  uint64_t code_type);
void op_runtime_python_codes_deinit(struct op_python_codes *codes);

/* Get the code object that was at @addr. *@ret is borrowed until the next call. Returns 0;
 * -EBADMSG if there is none; -ESTALE if it is another one by now; an error of reading; -ENOMEM. */
int op_runtime_python_codes_get(struct op_python_codes *codes, uint64_t addr,
				uint32_t check, const struct op_python_code **ret);

/* Keep the object whose data is in @copy. Returns 0, -ENOMEM or an error of reading. */
int op_runtime_python_codes_add(struct op_python_codes *codes, uint64_t addr,
				uint32_t check, const struct op_memory *copy);

#endif
