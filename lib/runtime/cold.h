/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a function that a compiler moved elsewhere ("name.cold"), in a file whose
 * symbol for it was stripped: the place that the function's jumps lead into, with its
 * extent from .eh_frame.
 */
#ifndef OP_RUNTIME_COLD_H
#define OP_RUNTIME_COLD_H

#include <stdint.h>

#include "elf/file.h"

/* The part of the function at ELF addresses [@start, @end). Returns 1 with @ret (first
 * address, end), 0 where there is none, or -errno. */
int op_runtime_cold_part(struct op_elf *elf, uint64_t start, uint64_t end,
			 uint64_t ret[2]);

#endif
