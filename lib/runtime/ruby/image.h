/* SPDX-License-Identifier: Apache-2.0 */
/* Examines a file that may be Ruby: its version, its layout and where its variables are. */
#ifndef OP_RUNTIME_RUBY_IMAGE_H
#define OP_RUNTIME_RUBY_IMAGE_H

#include <stdint.h>

#include "base/log.h"
#include "code/elf/file.h"
#include "code/elf/tls.h"
#include "runtime/ruby/layout.h"
#include "runtime/ruby/loop.h"
#include "runtime/runtime.h"

/* Addresses are ELF addresses. */
struct op_ruby_image {
	struct op_ruby_layout layout;
	struct op_ruby_loop loop;
	/* to 2.7: the pointer to the execution context; 0: it is in tls */
	uint64_t shared;
	struct op_elf_tls tls;
	/* ruby_global_symbols; 0: not found, functions in C have no names */
	uint64_t symbols;
};

/* Like probe() of struct op_runtime_ops, with the image in *@ret. */
int op_runtime_ruby_image(struct op_elf *elf, const char *path,
			  const struct op_layouts *layouts, struct op_log *log,
			  struct op_ruby_image *ret, struct op_runtime_loop *ret_loop);

#endif
