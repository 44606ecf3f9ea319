/* SPDX-License-Identifier: Apache-2.0 */
/* Is a file Node.js, which version of V8 does it contain, and where are V8's builtins? */
#ifndef OP_RUNTIME_NODE_IMAGE_H
#define OP_RUNTIME_NODE_IMAGE_H

#include "base/log.h"
#include "runtime/node/code.h"
#include "runtime/node/layout.h"
#include "runtime/runtime.h"

struct op_node_image {
	struct op_node_layout layout;
	struct op_node_opcodes opcodes;
	uint64_t builtins; /* [builtins, builtins_end), ELF addresses */
	uint64_t builtins_end;
	uint64_t prologue; /* the builtin that begins baseline code; 0: none */
	uint64_t prologue_end;
};

/* Like op_runtime_ops.probe. */
int op_runtime_node_image(struct op_elf *elf, const char *path,
			  const struct op_layouts *layouts, struct op_log *log,
			  struct op_node_image *ret, struct op_runtime_loop *ret_loop);

#endif
