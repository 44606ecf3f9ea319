/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of one process, as far as frames named them: name, file, first line and the
 * line of each instruction, read once.
 *
 * A frame names its function by the address of a zend_function. That of a closure is a copy
 * in the closure's own memory, which may be another closure's a moment later. What does not
 * move is the function's instructions, and a frame tells at which of them it is. So an entry
 * is right for a frame whose instruction is one of the entry's own; for others it is compared
 * with the process (one read), and once a window for all, because a script may free
 * instructions too. A frame may tell an instruction of another function, left in its memory
 * by an earlier frame; so that alone names nothing while the function can be read.
 */
#ifndef OP_RUNTIME_PHP_FUNCTION_H
#define OP_RUNTIME_PHP_FUNCTION_H

#include <stdint.h>

#include "base/memory.h"
#include "runtime/objects.h"
#include "runtime/php/layout.h"

enum {
	OP_PHP_FUNCTIONS_MAX = 16384, /* entries; beyond, all are dropped and read anew */
	OP_PHP_FUNCTIONS_BYTES = 8 << 20, /* of their names and lines; the same */
	OP_PHP_LINES_MAX = 32768, /* instructions of a function whose lines are kept */
	OP_PHP_TEXT_MAX = 4096,	  /* bytes of a name; longer ones are cut */
};

struct op_php_function {
	uint64_t addr;
	uint64_t cookie; /* hash of the members that do not change */
	uint64_t opcodes;
	uint32_t count;	 /* of instructions; 0: an internal function */
	uint32_t window; /* in which it was checked last */
	uint32_t first_line;
	uint32_t type;	 /* enum op_php_type */
	uint32_t *lines; /* of each instruction; NULL: not kept */
	char *name;	 /* "Class::function"; "" for the code of a file or an eval() */
	char *file;	 /* "" where unknown; both are one allocation */
};

struct op_php_functions {
	const struct op_memory *memory;
	const struct op_php_layout *layout;
	struct op_objects objects;
	uint32_t window;
	uint64_t reads;	  /* functions read whole */
	uint64_t changed; /* of them: the address was another function's before */
};

/* Borrows @memory and @layout. */
void op_runtime_php_functions_init(struct op_php_functions *functions,
				   const struct op_memory *memory,
				   const struct op_php_layout *layout);
void op_runtime_php_functions_deinit(struct op_php_functions *functions);

/* The function at @addr of a frame at instruction @opline (0: none). *@ret is borrowed until
 * the next call. Returns 0; -EBADMSG where there is none; the error of reading; -ENOMEM. */
int op_runtime_php_functions_get(struct op_php_functions *functions, uint64_t addr,
				 uint64_t opline, const struct op_php_function **ret);

/* What a frame itself tells of its function (a frame of OP_PHP_COPY_WORDS): addresses, or 0. */
struct op_php_names {
	uint64_t name;
	uint64_t scope;
	uint64_t file;
	uint64_t file_guard; /* op_php_string_guard() of it */
	uint64_t first_line;
	uint64_t is_eval;
};

/* The function of those names, read once a window: what is still there. As above. */
int op_runtime_php_functions_by_names(struct op_php_functions *functions,
				      const struct op_php_names *names,
				      const struct op_php_function **ret);

/* The line of the instruction at @opline of @function; 0 where that is none of its own, or
 * not kept. */
uint32_t op_runtime_php_line(const struct op_php_function *function, uint64_t opline);

#endif
