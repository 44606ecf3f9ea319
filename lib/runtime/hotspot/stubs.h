/* SPDX-License-Identifier: Apache-2.0 */
/* The stubs of a VM: which blobs are such, and the rules of their code (stack.h). */
#ifndef OP_RUNTIME_HOTSPOT_STUBS_H
#define OP_RUNTIME_HOTSPOT_STUBS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "runtime/hotspot/layout.h"

#include "op_user_types.h"

#include "op_hotspot.h"

enum {
	OP_HOTSPOT_BLOCKS_MAX = 16384,	  /* of a code heap that are looked at */
	OP_HOTSPOT_STUBS_TOTAL = 1 << 20, /* bytes of code that are read */
};

/*
 * Put the rules of all stubs into @bpf, which has those of its interpreter: those stay. @ret_end is
 * the address of the first block that is not made yet, or 0. Returns 0; an error of reading; -ENOMEM. On
 * failure @bpf is as before.
 */
int op_runtime_hotspot_stubs(const struct op_memory *memory,
			     const struct op_hotspot_layout *layout,
			     struct op_hotspot *bpf, uint64_t *ret_end);

/* Has a block been made at @end since? */
bool op_runtime_hotspot_stubs_grew(const struct op_memory *memory, uint64_t end);

#endif
