/* SPDX-License-Identifier: Apache-2.0 */
/* The word of a runtime, and the frame of a function whose name can no longer be read. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "runtime/runtime.h"

const char *op_runtime_name(const struct op_runtime_ops *ops)
{
	static const char *const NAMES[OP_RUNTIME_MAX] = {
#define OP_RUNTIME(number, upper, lower, page, tells) [number] = #lower,
#include "op_runtimes.def"
	};

	return NAMES[ops->id];
}

void op_runtime_frame_gone(const struct op_runtime_ops *ops, uint64_t addr, int r,
			   char name[static OP_RUNTIME_GONE_BYTES],
			   struct op_runtime_frame *ret)
{
	(void)snprintf(name, OP_RUNTIME_GONE_BYTES, "%s@0x%" PRIx64, op_runtime_name(ops),
		       addr);
	ret->function[0] = (struct op_runtime_function){ .name = name, .file = "" };
	ret->len = 1;
	ret->fresh = true;
	/* Its memory may be reused for another function with the same words. */
	ret->again = r != -ESRCH;
}
