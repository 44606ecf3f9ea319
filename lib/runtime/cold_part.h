/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the part of a function that the compiler moved elsewhere ("name.cold"), in a file
 * whose symbol for it was stripped. The part is the place that the function's jumps lead
 * into; its range comes from .eh_frame.
 */
#ifndef OP_RUNTIME_COLD_PART_H
#define OP_RUNTIME_COLD_PART_H

#include <stdint.h>

#include "code/elf/file.h"

/* Find the cold part of the function at ELF addresses [@start, @end). Returns 1 with @ret
 * (first address, end), 0 if there is none, or -errno. */
int op_runtime_cold_part(struct op_elf *elf, uint64_t start, uint64_t end,
			 uint64_t ret[2]);

#endif
