/* SPDX-License-Identifier: Apache-2.0 */
/* The targets of jumps in one function, with the height of the stack there. */
#ifndef OP_CODE_UNWIND_HEIGHTS_TARGETS_H
#define OP_CODE_UNWIND_HEIGHTS_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/unwind/heights/stack.h"

struct op_jump_target {
	/* number of its function: slots of other functions are free */
	uint32_t function;
	uint32_t off;
	bool weak;
	struct op_code_stack height;
};

struct op_jump_targets {
	struct op_jump_target *slot;
	uint32_t function; /* number of the current function */
};

/* Returns 0 or -ENOMEM. */
int op_jump_targets_init(struct op_jump_targets *t);
void op_jump_targets_deinit(struct op_jump_targets *t);
size_t op_jump_targets_bytes(void);
/* The target at @off of the function that begins at @start, or NULL. @add: if it is not
 * known, a free slot instead. */
struct op_jump_target *op_jump_targets_find(struct op_jump_targets *t, size_t start,
					    size_t off, bool add);

#endif
