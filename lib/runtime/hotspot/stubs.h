/* SPDX-License-Identifier: Apache-2.0 */
/* The stubs of a VM, and the rules of their code (stack.h). */
#ifndef OP_RUNTIME_HOTSPOT_STUBS_H
#define OP_RUNTIME_HOTSPOT_STUBS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "runtime/hotspot/layout.h"

#include "op_user_types.h"

#include "op_hotspot.h"

enum {
	OP_HOTSPOT_BLOCKS_MAX = 16384,	  /* blocks of a code heap that are examined */
	OP_HOTSPOT_STUBS_TOTAL = 1 << 20, /* bytes of code that are read */
};

/*
 * Add the rules of all stubs to @bpf, after those of its interpreter. @ret_end is the
 * address of the first block that is not made yet, or 0. Returns 0; an error of
 * reading; -ENOMEM. On failure @bpf is unchanged.
 */
int op_runtime_hotspot_stubs(const struct op_memory *memory,
			     const struct op_hotspot_layout *layout,
			     struct op_hotspot *bpf, uint64_t *ret_end);

/* Was a block made at @end since then? */
bool op_runtime_hotspot_stubs_grew(const struct op_memory *memory, uint64_t end);

#endif
