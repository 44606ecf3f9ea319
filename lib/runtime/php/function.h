/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of the functions of one process that frames named: name, file, first line and
 * the line of each instruction.
 *
 * A frame names its function by the address of a zend_function. A closure's is a copy in
 * the closure's own memory, which may belong to another closure a moment later. The
 * function's instructions do not move, and a frame tells at which of them it is. So an
 * entry is right for a frame whose instruction is one of the entry's own. For other
 * frames it is compared with the process (one read), and once a window for all frames,
 * because a script may free instructions too. A frame may also hold an instruction of
 * another function, which an earlier frame left in its memory; so the instruction alone
 * names a function only if the function cannot be read.
 *
 * Without OPcache each request makes its functions anew, often where another script's
 * were. Then the frame has a guard of the file's name, and entries are kept by address
 * and guard.
 */
#ifndef OP_RUNTIME_PHP_FUNCTION_H
#define OP_RUNTIME_PHP_FUNCTION_H

#include <stdint.h>

#include "base/memory.h"
#include "runtime/objects.h"
#include "runtime/php/layout.h"

enum {
	/* entries; beyond that all are dropped and read again */
	OP_PHP_FUNCTIONS_MAX = 16384,
	/* the same limit for the bytes of names and lines */
	OP_PHP_FUNCTIONS_BYTES = 8 << 20,
	/* instructions of a function; the lines of a longer one are not kept */
	OP_PHP_LINES_MAX = 32768,
	OP_PHP_TEXT_MAX = 4096, /* bytes of a name; longer ones are cut */
};

struct op_php_function {
	uint64_t addr;
	uint64_t guard;	 /* of its file's name, as frames have it */
	uint64_t cookie; /* hash of the members that do not change */
	uint64_t opcodes;
	uint32_t count;	 /* number of instructions; 0: an internal function */
	uint32_t window; /* the window of the last check */
	uint32_t first_line;
	uint32_t type;	 /* enum op_php_type */
	uint32_t *lines; /* the line of each instruction; NULL: not kept */
	char *name;	 /* "Class::function"; "" for the code of a file or an eval() */
	char *file;	 /* "" if unknown; allocated together with name */
};

struct op_php_functions {
	const struct op_memory *memory;
	const struct op_php_layout *layout;
	struct op_objects objects;
	uint32_t window;
	uint64_t reads;	  /* functions read whole */
	uint64_t changed; /* reads that found another function at the address */
};

/* Borrows @memory and @layout. */
void op_runtime_php_functions_init(struct op_php_functions *functions,
				   const struct op_memory *memory,
				   const struct op_php_layout *layout);
void op_runtime_php_functions_deinit(struct op_php_functions *functions);

/*
 * Get the function at @addr of a frame at instruction @opline (0: none). Unless @guard is
 * 0, it is of the file whose name has that guard; that of another file may be there by
 * now. *@ret is borrowed until the next call. Returns 0; -EBADMSG if there is no such
 * function; an error of reading; -ENOMEM.
 */
int op_runtime_php_functions_get(struct op_php_functions *functions, uint64_t addr,
				 uint64_t guard, uint64_t opline,
				 const struct op_php_function **ret);

/* What a frame of OP_PHP_COPY_WORDS itself says of its function: addresses, or 0. */
struct op_php_names {
	uint64_t name;
	uint64_t scope;
	uint64_t file;
	uint64_t file_guard; /* op_php_string_guard() of it */
	uint64_t first_line;
	uint64_t is_eval;
};

/* Get the function with these names, as far as they still exist; read once a window.
 * Returns as above. */
int op_runtime_php_functions_by_names(struct op_php_functions *functions,
				      const struct op_php_names *names,
				      const struct op_php_function **ret);

/* The line of the instruction at @opline of @function; 0 if it is not one of the
 * function's, or if lines are not kept. */
uint32_t op_runtime_php_line(const struct op_php_function *function, uint64_t opline);

#endif
