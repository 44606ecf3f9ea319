/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the line of each instruction of an instruction sequence. */
#ifndef OP_RUNTIME_RUBY_LINES_H
#define OP_RUNTIME_RUBY_LINES_H

#include <stdint.h>

#include "base/memory.h"

/* The targets of insns_info of a rb_iseq_constant_body: */
struct op_ruby_insns {
	uint64_t entries;
	/* of the entries, ascending; 0: there is an index in its place */
	uint64_t positions;
	uint64_t index; /* struct succ_index_table, or 0 */
	uint32_t len;	/* of entries */
	uint32_t entry_bytes;
};

/*
 * Read the line of each of @count instructions into @ret; one whose line is not known gets 0.
 * Returns 0, -EBADMSG or an error of reading; -ENOMEM.
 */
int op_runtime_ruby_lines(const struct op_memory *memory,
			  const struct op_ruby_insns *insns, uint32_t count,
			  uint32_t *ret);

#endif
