/* SPDX-License-Identifier: Apache-2.0 */
/* Which Method is at an address, and what the kernel copies of one that it meets first. */
#ifndef OP_RUNTIME_HOTSPOT_IDENTITY_H
#define OP_RUNTIME_HOTSPOT_IDENTITY_H

#include <stdint.h>

#include "base/memory.h"
#include "runtime/hotspot/layout.h"

#include "op_user_types.h"

#include "op_hotspot.h"

/* Fill in what tells Methods apart and what names them. A VM with other layouts than those known
 * gets neither. */
void op_runtime_hotspot_identity_set(const struct op_hotspot_layout *layout,
				     struct op_hotspot *bpf);

/* The identity of the Method at @addr as the step computes it, in *@ret: never 0. Returns 0, -EBADMSG
 * if identities are not known, or an error of reading. */
int op_runtime_hotspot_identity(const struct op_memory *memory,
				const struct op_hotspot_layout *layout, uint64_t addr,
				uint32_t *ret);

#endif
