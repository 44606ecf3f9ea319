/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the method of an address in generated code, in the same way as the step. */
#ifndef OP_RUNTIME_DOTNET_CODE_H
#define OP_RUNTIME_DOTNET_CODE_H

#include <stdint.h>

#include "base/memory.h"

/* Find the code at @addr by the RangeSectionMap at @ranges. Returns 1 with the words of
 * its frame (op_dotnet.h), 0 if it is the runtime's but no method, -ENOENT, or an error
 * of reading. */
int op_runtime_dotnet_code(const struct op_memory *memory, uint64_t ranges, uint64_t addr,
			   uint64_t words[3]);

#endif
