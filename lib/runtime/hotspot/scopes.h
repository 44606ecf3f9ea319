/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which methods a place in a compiled method's code belongs to. The compilers leave a row
 * (PcDesc) for each pc at which the VM may look at the frame, and for each the chain of
 * scopes that were inlined there. With -XX:+DebugNonSafepoints there are rows for all code:
 * a row says what holds up to its pc.
 */
#ifndef OP_RUNTIME_HOTSPOT_SCOPES_H
#define OP_RUNTIME_HOTSPOT_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "runtime/hotspot/layout.h"

enum {
	OP_HOTSPOT_SCOPES_MAX = 32,   /* inlined into each other; the outermost are cut */
	OP_HOTSPOT_PCS_MAX = 1 << 20, /* rows of a method */
};

struct op_hotspot_scope {
	uint64_t method; /* address of the Method */
	int32_t bci;	 /* -1: at its begin */
};

struct op_hotspot_scopes {
	struct op_hotspot_scope scope[OP_HOTSPOT_SCOPES_MAX]; /* innermost first */
	size_t len;
	bool at_row; /* the place is the end of a call that a row is for */
};

/*
 * The scopes of offset @at in the code of the nmethod at @addr, which compilation @id made.
 * A wrapper of a native method has its Method alone. Returns 0; -ESTALE where the memory is
 * another one's by now; -EBADMSG; the error of reading.
 */
int op_runtime_hotspot_scopes(const struct op_memory *memory,
			      const struct op_hotspot_layout *layout, uint64_t addr,
			      uint32_t id, uint32_t at, struct op_hotspot_scopes *ret);

/* The address of the VM's flag @name, a byte. Returns 0, -ENOENT or the error of reading. */
int op_runtime_hotspot_flag(const struct op_memory *memory,
			    const struct op_hotspot_layout *layout, const char *name,
			    uint64_t *ret);

#endif
