/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a method's code. The JIT's map leads from code to IL offsets (debug/shared
 * and vm/debuginfostore.cpp of dotnet/runtime write it), and the PDB's from those to
 * lines. The JIT does not record inlining: code of an inlined method has the line of the
 * call.
 */
#ifndef OP_RUNTIME_DOTNET_LINES_H
#define OP_RUNTIME_DOTNET_LINES_H

#include <stdint.h>

#include "base/memory.h"
#include "runtime/dotnet/layout.h"
#include "runtime/dotnet/pe/pdb.h"

enum {
	OP_DOTNET_BOUNDS_MAX = 1 << 14, /* of a method */
};

/* From the byte @code of a method on, its code has the IL offset @il. */
struct op_dotnet_bound {
	uint32_t code;
	uint32_t il; /* or a special value below */
};

enum {
	OP_DOTNET_IL_EPILOG = -3,
	OP_DOTNET_IL_PROLOG = -2,
	OP_DOTNET_IL_NONE = -1,
};

struct op_dotnet_bounds {
	struct op_dotnet_bound *data;
	size_t len;
	size_t cap;
};

/* Read the debug info at @at. Returns 0, -EBADMSG, or an error of reading. */
int op_runtime_dotnet_bounds(const struct op_memory *memory, uint64_t at,
			     const struct op_dotnet_layout *layout,
			     struct op_dotnet_bounds *bounds);

/* From the byte `code` on: `line` (0: unknown) of the document in row `document`. Where
 * the JIT kept no offset, as in blocks that it copied, the line is that of the code
 * before. */
struct op_dotnet_row {
	uint32_t code;
	uint32_t line : 31;
	uint32_t approximate : 1;
	uint32_t document;
};

/* Make the rows of a method in @ret, one for each of @bounds. Returns their number. */
size_t op_runtime_dotnet_rows(const struct op_dotnet_bounds *bounds,
			      const struct op_dotnet_points *points,
			      struct op_dotnet_row *ret);
/* The row of the byte @code. Returns NULL if there is none. */
const struct op_dotnet_row *op_runtime_dotnet_row(const struct op_dotnet_row *rows,
						  size_t len, uint32_t code);

#endif
