/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of the functions of one process that frames named: name, file and first line.
 * A frame identifies a function by its address and its identity, because the memory may
 * have belonged to another function, and may again: a closure has a copy of its
 * function, an eval() drops the functions that it made, and without OPcache each
 * request makes new functions. Most come as copies that the kernel made. Missing
 * parts are read from the process.
 */
#ifndef OP_RUNTIME_PHP_FUNCTION_H
#define OP_RUNTIME_PHP_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "runtime/objects.h"
#include "runtime/php/layout.h"

enum {
	/* entries; beyond that all are dropped and read again */
	OP_PHP_FUNCTIONS_MAX = 16384,
	/* the same limit for the bytes of names */
	OP_PHP_FUNCTIONS_BYTES = 8 << 20,
	OP_PHP_TEXT_MAX = 4096, /* bytes of a name; longer ones are cut */
};

struct op_php_function {
	uint64_t addr;
	uint32_t check;	 /* its identity in frames: op_php.h */
	uint32_t window; /* the window in which it was last read */
	bool whole;	 /* its file was read */
	uint32_t type;	 /* enum op_php_type */
	uint32_t first_line;
	uint32_t file; /* offset of the file's name in text; it is "" if unknown */
	char text
		[]; /* "Class::function", "" for the code of a file or an eval(); NUL; file */
};

struct op_php_functions {
	const struct op_memory *memory;
	const struct op_php_layout *layout;
	uint32_t for_call; /* the flag of a function that is made for one call */
	struct op_objects objects;
	uint32_t window;
	uint64_t reads;	  /* functions read whole */
	uint64_t changed; /* reads that found another function at the address */
};

/* Borrows @memory and @layout. */
void op_runtime_php_functions_init(struct op_php_functions *functions,
				   const struct op_memory *memory,
				   const struct op_php_layout *layout, uint32_t for_call);
void op_runtime_php_functions_deinit(struct op_php_functions *functions);

/*
 * Get the function that was at @addr. *@ret is borrowed until the next call. Returns 0; -EBADMSG
 * if there is no function; -ESTALE if it is another one by now; an error of reading; -ENOMEM.
 */
int op_runtime_php_functions_get(struct op_php_functions *functions, uint64_t addr,
				 uint32_t check, const struct op_php_function **ret);

/* Keep the function whose data is in @copy. Returns 0, -ENOMEM or an error of reading. */
int op_runtime_php_functions_add(struct op_php_functions *functions, uint64_t addr,
				 uint32_t check, const struct op_memory *copy);

#endif
