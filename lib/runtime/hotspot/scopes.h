/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which methods a place in a compiled method's code belongs to. The compilers leave a row
 * (PcDesc) for each pc at which the VM may look at the frame, and for each the chain of
 * scopes that were inlined there. With -XX:+DebugNonSafepoints there are rows for all code:
 * a row says what holds up to its pc. Else there are rows for some places alone, mostly
 * calls, and what stands between two of them may be of any method that is inlined.
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
	OP_HOTSPOT_FLOW_BYTES =
		4096, /* of code between a pc and a row that are looked at */
};

/* A place in compiled code. */
struct op_hotspot_place {
	uint64_t nmethod;
	uint32_t id; /* of the compilation that made it */
	uint32_t at; /* offset in its code: of an instruction, or of a call's last byte */
	bool called;
};

struct op_hotspot_scope {
	uint64_t method; /* address of the Method */
	int32_t bci;	 /* -1: at its begin */
};

struct op_hotspot_scopes {
	struct op_hotspot_scope scope[OP_HOTSPOT_SCOPES_MAX]; /* innermost first */
	size_t len;
	bool approximate; /* the place has no row; those around it tell what is likely */
};

/*
 * The scopes of @place; @all_code: there are rows for all of it. A wrapper of a native
 * method has its Method alone. A place without a row is
 *   - in the next row's scopes, where no branch is between, or where it is in a loop without
 *     rows that runs into the next row;
 *   - in those of the row before, where the code behind such a loop jumps elsewhere;
 *   - else in the scopes that both rows share: those are sure, and what is inlined into
 *     them is not known.
 * Returns 0; -ESTALE where the memory is another one's by now; -EBADMSG; the error of
 * reading.
 */
int op_runtime_hotspot_scopes(const struct op_memory *memory,
			      const struct op_hotspot_layout *layout,
			      const struct op_hotspot_place *place, bool all_code,
			      struct op_hotspot_scopes *ret);

/* The address of the VM's flag @name, a byte. Returns 0, -ENOENT or the error of reading. */
int op_runtime_hotspot_flag(const struct op_memory *memory,
			    const struct op_hotspot_layout *layout, const char *name,
			    uint64_t *ret);

#endif
