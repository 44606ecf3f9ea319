/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds vm_exec_core(), which runs the instructions, and vm_exec(), which calls it. No
 * symbol is needed: the addresses of the instructions' code are in a table, the longest
 * one that leads into one function.
 */
#ifndef OP_RUNTIME_RUBY_LOOP_H
#define OP_RUNTIME_RUBY_LOOP_H

#include <stdint.h>

#include "code/elf/file.h"

#include "op_user_types.h"

#include "op_ruby.h"

/* ELF addresses, [first, end). */
struct op_ruby_loop {
	uint64_t core[2];
	uint64_t exec[2];
	uint64_t after[OP_RUBY_AFTER][2]; /* as in struct op_ruby; 0: unknown */
	uint64_t plt[2];		  /* the same */
};

/* Returns 1 with *@ret, 0 if the file has none, or -errno. */
int op_runtime_ruby_loop(struct op_elf *elf, struct op_ruby_loop *ret);

#endif
