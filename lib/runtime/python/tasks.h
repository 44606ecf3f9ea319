/* SPDX-License-Identifier: Apache-2.0 */
/* The offsets of asyncio's tasks, which the module _asyncio publishes since 3.14. */
#ifndef OP_RUNTIME_PYTHON_TASKS_H
#define OP_RUNTIME_PYTHON_TASKS_H

#include <stddef.h>
#include <stdint.h>

#include "code/elf/file.h"
#include "runtime/python/layout.h"
#include "runtime/runtime.h"

#include "op_python.h"

enum {
	OP_PYTHON_TASKS_BYTES = 104, /* bytes of the published offsets */
};

/*
 * Read the published offsets in @bytes. Returns 0 with the members state_task and
 * task_* of @ret, or -EBADMSG if one of them is out of range. Then @ret is untouched.
 */
int op_runtime_python_tasks_published(const void *bytes, size_t len,
				      struct op_python_tasks *ret);

/*
 * Does the file contain the module _asyncio, alone or among others? Returns 1 with the
 * members state_task and task_* of @ret; 0 if it does not, or if tasks of @layout are
 * not followed; or -errno.
 */
int op_runtime_python_tasks(struct op_elf *elf, const struct op_python_layout *layout,
			    struct op_python_tasks *ret);

/* The beginning of the base name of the module's file. */
#define OP_PYTHON_TASKS_MODULE "_asyncio."

/* If @ret has no offsets yet, find them in the module that the process maps, and fill
 * in the members state_task and task_*. Returns 1 if it did; 0 if there are none; or
 * -errno. */
int op_runtime_python_tasks_module(const struct op_runtime_target *target,
				   const struct op_python_layout *layout,
				   struct op_python_tasks *ret);

#endif
