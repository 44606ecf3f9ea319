/* SPDX-License-Identifier: Apache-2.0 */
/* Identifies the Method at an address, and defines what the kernel copies of a Method
 * that it meets first. */
#ifndef OP_RUNTIME_HOTSPOT_IDENTITY_H
#define OP_RUNTIME_HOTSPOT_IDENTITY_H

#include <stdint.h>

#include "base/memory.h"
#include "runtime/hotspot/layout.h"

#include "op_user_types.h"

#include "op_hotspot.h"

/* Fill in how to identify and to name Methods. A VM with an unknown layout gets
 * neither. */
void op_runtime_hotspot_identity_set(const struct op_hotspot_layout *layout,
				     struct op_hotspot *bpf);

/* The identity of the Method at @addr as the step computes it, in *@ret: never 0. Returns 0, -EBADMSG
 * if identities are not known, or an error of reading. */
int op_runtime_hotspot_identity(const struct op_memory *memory,
				const struct op_hotspot_layout *layout, uint64_t addr,
				uint32_t *ret);

#endif
