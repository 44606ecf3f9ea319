/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of the objects that frames of one process name: instruction sequences with
 * their labels, files and lines, and methods in C with their names.
 *
 * A frame has the address of an object and a guard of words in it, which distinguishes
 * it from a later one at the address. An entry is kept under both. Objects of the same
 * code that is made and dropped repeatedly may have the same words, too. So an entry is
 * read again once a window. The code of a file or of an eval() is often gone before it
 * can be read, and the Strings of other code that is dropped may go before it does. So
 * the kernel copies what names code when it first meets it. If it could not, and the guard
 * of gone code is that of code that was read before, it is the same code.
 */
#ifndef OP_RUNTIME_RUBY_FUNCTION_H
#define OP_RUNTIME_RUBY_FUNCTION_H

#include <stdint.h>

#include "runtime/objects.h"
#include "runtime/ruby/object.h"

#include "op_user_types.h"

#include "op_records.h"

enum {
	/* entries; beyond that all are dropped and read again */
	OP_RUBY_FUNCTIONS_MAX = 16384,
	/* the same limit for the bytes of names and lines */
	OP_RUBY_FUNCTIONS_BYTES = 8 << 20,
	/* instructions of a sequence; the lines of a longer one are not kept */
	OP_RUBY_LINES_MAX = 32768,
};

struct op_ruby_function {
	uint64_t addr;
	uint64_t method; /* the third word of its frames, or 0 */
	uint32_t guard;
	uint32_t window; /* the window of the last read */
	uint32_t first_line;
	uint32_t count;	 /* of lines */
	uint32_t *lines; /* the line of each instruction; NULL: not kept */
	char *name;	 /* as in Ruby's own backtraces */
	char *file;	 /* "" if it has none; allocated together with name */
};

struct op_ruby_functions {
	struct op_ruby_objects read;
	struct op_objects objects;
	uint32_t window;
	uint64_t reads; /* functions read whole */
};

/* Borrows @memory and @layout. @symbols: as in struct op_ruby_objects. */
void op_runtime_ruby_functions_init(struct op_ruby_functions *functions,
				    const struct op_memory *memory,
				    const struct op_ruby_layout *layout,
				    uint64_t symbols);
void op_runtime_ruby_functions_deinit(struct op_ruby_functions *functions);

/* What the kernel copies of a body when it first meets it. */
void op_runtime_ruby_function_object(const struct op_ruby_layout *layout,
				     struct op_object_step ret[OP_OBJECT_STEPS]);
/* Add the function with the body at @addr and @guard, of which the kernel has made @copy.
 * Its lines are read from the process. Returns 0; -EFAULT if a part is not in the copy;
 * -EBADMSG; -ENOMEM. */
int op_runtime_ruby_functions_add(struct op_ruby_functions *functions, uint64_t addr,
				  uint32_t guard, const struct op_memory *copy);

/*
 * Get the function of a frame by its words (op_ruby.h); the third one is 0 if it has
 * none. *@ret is borrowed until the next call. Returns 0; -EBADMSG if it is gone; an
 * error of reading; -ENOMEM.
 */
int op_runtime_ruby_functions_get(struct op_ruby_functions *functions,
				  const uint64_t words[3],
				  const struct op_ruby_function **ret);

/* The current line of a frame of @function. 0: unknown. */
uint32_t op_runtime_ruby_line(const struct op_ruby_function *function,
			      const uint64_t words[2]);

#endif
