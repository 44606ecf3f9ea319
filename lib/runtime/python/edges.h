/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before 3.11 nothing on the C stack tells whether an activation of the interpreter loop
 * has linked its frame into the thread's chain. The pc does: from the loop's entry up to
 * the store into tstate->frame it is not linked yet, and from the store of f->f_back up
 * to the return it is no longer linked.
 */
#ifndef OP_RUNTIME_PYTHON_EDGES_H
#define OP_RUNTIME_PYTHON_EDGES_H

#include <stdint.h>

#include "code/elf/file.h"

#include "op_python.h"

/*
 * Find these address ranges in the loop at ELF addresses [@start, @end) of an x86-64
 * file. Returns how many of @ret were filled, 0 if the code does not look as expected, or
 * -errno.
 */
int op_runtime_python_edges(struct op_elf *elf, uint64_t start, uint64_t end,
			    uint64_t ret[OP_PYTHON_EDGES][2]);

#endif
