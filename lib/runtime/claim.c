/* SPDX-License-Identifier: Apache-2.0 */
/* Claims the mappings with code that a runtime made. */
#include "runtime/runtime.h"

void op_runtime_claim_code(const struct op_runtime_target *target,
			   bool (*is_own)(const void *data,
					  const struct op_runtime_target *target,
					  const struct op_runtime_mapping *m),
			   const void *data, struct op_runtime_code *ret)
{
	struct op_runtime_mapping m;
	size_t i;

	for (i = 0; target->code_mapping && ret->len < OP_RUNTIME_RANGES_MAX &&
		    target->code_mapping(target, i, &m) == 0;
	     i++)
		if (is_own(data, target, &m))
			ret->range[ret->len++] =
				(struct op_runtime_range){ .start = m.start,
							   .end = m.end };
}
