/* SPDX-License-Identifier: Apache-2.0 */
/* Examines a CPython executable: its version, its layout and where its functions are. */
#ifndef OP_RUNTIME_PYTHON_IMAGE_H
#define OP_RUNTIME_PYTHON_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "code/elf/file.h"
#include "op_python.h"
#include "runtime/python/layout.h"
#include "runtime/runtime.h"

/* Addresses are ELF addresses. */
struct op_python_image {
	uint16_t version; /* 0x030b */
	uint16_t machine;
	struct op_python_layout layout;
	uint64_t state_function; /* PyGILState_GetThisThreadState */
	uint64_t state_bytes;
	uint64_t code_type; /* PyCode_Type; 0: unknown */
	uint64_t none;	    /* _Py_NoneStruct; 0: unknown */
	/* types as ELF addresses; offsets of its own asyncio */
	struct op_python_tasks tasks;
	uint64_t current; /* to 3.11: the variable of the PyThreadState that runs */
	/* a thread state that cannot be found was reported; once per file */
	bool warned;
	uint32_t edge_count;
	uint64_t edge[OP_PYTHON_EDGES][2];
};

/* Like probe() of struct op_runtime_ops, with the image in *@ret. */
int op_runtime_python_image(struct op_elf *elf, const char *path,
			    const struct op_layouts *layouts, struct op_log *log,
			    struct op_python_image *ret,
			    struct op_runtime_loop *ret_loop);

/*
 * Before 3.11 nothing on the C stack shows whether an activation of the interpreter
 * loop has linked its frame into the thread's chain. The pc shows it: from the loop's
 * entry up to the store into tstate->frame the frame is not linked yet, and from the
 * store of f->f_back up to the return it is no longer linked.
 */

/*
 * Find these address ranges in the loop at ELF addresses [@start, @end) of an x86-64
 * file. Returns how many of @ret were filled, 0 if the code does not look as expected, or
 * -errno.
 */
int op_runtime_python_edges(struct op_elf *elf, uint64_t start, uint64_t end,
			    uint64_t ret[OP_PYTHON_EDGES][2]);

#endif
