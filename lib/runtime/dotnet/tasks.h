/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what the step needs to follow tasks. */
#ifndef OP_RUNTIME_DOTNET_TASKS_H
#define OP_RUNTIME_DOTNET_TASKS_H

#include "base/memory.h"
#include "runtime/dotnet/layout.h"

#include "op_user_types.h"

#include "op_dotnet.h"

enum {
	OP_DOTNET_TASKS_READS = 24 << 10, /* reads of memory: some 15 ms */
};

/* Fill the members of @ret for tasks, by the RangeSectionMap at @ret->ranges. Returns 0;
 * -ENOENT if the framework is not loaded yet; -E2BIG after OP_DOTNET_TASKS_READS; or another
 * error. */
int op_runtime_dotnet_tasks(const struct op_memory *memory,
			    const struct op_dotnet_layout *layout, struct op_dotnet *ret);

#endif
