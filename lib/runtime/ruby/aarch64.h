/* SPDX-License-Identifier: Apache-2.0 */
/* What the code of a Ruby for aarch64 shows. Addresses are ELF addresses. */
#ifndef OP_RUNTIME_RUBY_AARCH64_H
#define OP_RUNTIME_RUBY_AARCH64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/elf/file.h"
#include "code/elf/tls.h"
#include "runtime/ruby/loop.h"

/* Does the instruction at @pos of @code, which is at @addr, call @function? */
bool op_runtime_ruby_a64_calls(const uint8_t *code, size_t len, uint64_t addr, size_t pos,
			       uint64_t function);

/* Add to @ret->after the code behind the call that returns to @pos, until the function
 * returns. */
void op_runtime_ruby_a64_after(const uint8_t *code, size_t len, uint64_t addr, size_t pos,
			       struct op_ruby_loop *ret);

/* Add to @ret->after the code of vm_exec_core() between the load of its caller's
 * OP_RUBY_A64_FRAME and its return. */
void op_runtime_ruby_a64_leave(const uint8_t *code, size_t len, uint64_t addr,
			       struct op_ruby_loop *ret);

/* The place of the execution context, which @frames, rb_profile_frames(), reads. Returns 1
 * with *@ret, 0, or -errno. */
int op_runtime_ruby_a64_context(struct op_elf *elf, uint64_t frames,
				struct op_elf_tls *ret);

/* The table of symbols, which @id2str, rb_id2str(), reads, or 0. */
uint64_t op_runtime_ruby_a64_symbols(struct op_elf *elf, uint64_t id2str);

#endif
