/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Ruby's strings, arrays and symbols from a process's memory. */
#ifndef OP_RUNTIME_RUBY_OBJECT_H
#define OP_RUNTIME_RUBY_OBJECT_H

#include <stdint.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "runtime/ruby/layout.h"

enum {
	OP_RUBY_TEXT_MAX = 4096, /* bytes of a string; longer ones are cut */
	/* of String and Array, those that are read at once */
	OP_RUBY_HEAD_BYTES = 40,
	/* of a String, unless short text is at 16; of an Array: the first element of a short one */
	OP_RUBY_STRING_LENGTH = 16,
	OP_RUBY_STRING_POINTER = 24,
	OP_RUBY_ARRAY_EMBEDDED = 16,
};

struct op_ruby_objects {
	const struct op_memory *memory;
	const struct op_ruby_layout *layout;
	uint64_t symbols; /* address of the table of symbols; 0: unknown */
};

/* Append the text of the String at @addr, up to OP_RUBY_TEXT_MAX bytes or its first NUL. Returns
 * 0; -EBADMSG if it is not one that Ruby interned, as it does with all that name code; an
 * error of reading; -ENOMEM. */
int op_runtime_ruby_string(const struct op_ruby_objects *objects, uint64_t addr,
			   struct op_strbuf *to);
/* Read element @i of the Array at @addr. Returns as above; -ENOENT if it is shorter. */
int op_runtime_ruby_element(const struct op_ruby_objects *objects, uint64_t addr,
			    uint64_t i, uint64_t *ret);
/* Append the name of the symbol with the number @id. Returns as above; -ENOENT if there is
 * none. */
int op_runtime_ruby_symbol(const struct op_ruby_objects *objects, uint64_t id,
			   struct op_strbuf *to);

#endif
