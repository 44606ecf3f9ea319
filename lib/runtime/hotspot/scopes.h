/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the methods to which an offset in a compiled method's code belongs. The
 * compilers make a row (PcDesc) for each pc at which the VM may examine the frame, with
 * the chain of scopes that were inlined there. With -XX:+DebugNonSafepoints there are
 * rows for all code, and a row covers the code up to its pc. Otherwise there are rows
 * for some places only, mostly calls, and code between two rows may belong to any
 * inlined method.
 */
#ifndef OP_RUNTIME_HOTSPOT_SCOPES_H
#define OP_RUNTIME_HOTSPOT_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "runtime/hotspot/layout.h"

enum {
	OP_HOTSPOT_SCOPES_MAX = 32,   /* depth of inlining; the outermost are cut */
	OP_HOTSPOT_PCS_MAX = 1 << 20, /* rows of a method */
	/* bytes of code that are decoded between a pc and a row */
	OP_HOTSPOT_FLOW_BYTES = 4096,
};

/* A place in compiled code. */
struct op_hotspot_place {
	uint64_t nmethod;
	uint32_t id; /* number of the compilation that made it */
	/* offset in its code: of an instruction, or of the last byte of a call */
	uint32_t at;
	bool called;
};

struct op_hotspot_scope {
	uint64_t method; /* address of the Method */
	int32_t bci;	 /* -1: at the method's entry */
};

struct op_hotspot_scopes {
	struct op_hotspot_scope scope[OP_HOTSPOT_SCOPES_MAX]; /* innermost first */
	size_t len;
	/* the offset has no row; the rows around it give the most likely scopes */
	bool approximate;
};

/*
 * The scopes of @place; @all_code: there are rows for all of its code. A wrapper of a
 * native method has only its Method. An offset without a row gets
 *   - the next row's scopes, if no branch is in between, or if it is in a loop without rows
 *     that runs into the next row;
 *   - the scopes of the row before, if the code after such a loop jumps elsewhere;
 *   - otherwise the scopes that both rows share: these are certain, and what is inlined into
 *     them is unknown.
 * Returns 0; -ESTALE if the memory has been reused for something else; -EBADMSG; or an
 * error of reading.
 */
int op_runtime_hotspot_scopes(const struct op_memory *memory,
			      const struct op_hotspot_layout *layout,
			      const struct op_hotspot_place *place, bool all_code,
			      struct op_hotspot_scopes *ret);

/* Is the code of @place still there? Returns 0, -ESTALE or an error of reading. */
int op_runtime_hotspot_scopes_check(const struct op_memory *memory,
				    const struct op_hotspot_layout *layout,
				    const struct op_hotspot_place *place);

/* The address of the VM's flag @name, a byte. Returns 0, -ENOENT or an error
 * of reading. */
int op_runtime_hotspot_flag(const struct op_memory *memory,
			    const struct op_hotspot_layout *layout, const char *name,
			    uint64_t *ret);

#endif
