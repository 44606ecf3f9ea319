/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Portable PDB: the lines of a module's methods (docs/specs/PortablePdb-Metadata.md of
 * dotnet/runtime). Nothing is kept of it but where its tables are.
 */
#ifndef OP_RUNTIME_DOTNET_PE_PDB_H
#define OP_RUNTIME_DOTNET_PE_PDB_H

#include <stdint.h>

#include "base/memory.h"
#include "base/strbuf.h"

enum {
	OP_DOTNET_PDB_ID_BYTES = 20, /* a GUID, and 4 bytes of the image's time stamp */
	OP_DOTNET_PDB_MAX = 256 << 20,
	OP_DOTNET_POINTS_MAX = 1 << 14, /* of a method */
};

struct op_dotnet_pdb {
	const struct op_memory *memory; /* borrowed */
	uint64_t blob;
	uint32_t blob_size;
	uint32_t documents; /* rows */
	uint32_t methods;
	uint64_t documents_at;
	uint64_t methods_at;
	uint32_t documents_bytes; /* of a row */
	uint32_t methods_bytes;
	uint8_t heaps; /* HeapSizes */
};

/* From the IL offset @il on, code has line @line of a document. 0: no line. */
struct op_dotnet_point {
	uint32_t il;
	uint32_t line;
	uint32_t document;
};
struct op_dotnet_points {
	struct op_dotnet_point *data;
	size_t len;
	size_t cap;
};

/* Open the PDB of @size bytes at address 0, which must have the @id. Returns 0, -ESTALE if it
 * belongs to another image, -EBADMSG, or an error of reading. */
int op_runtime_dotnet_pdb(const struct op_memory *memory, uint64_t size,
			  const uint8_t id[OP_DOTNET_PDB_ID_BYTES],
			  struct op_dotnet_pdb *ret);
/* Add the points of the method in row @row, in order of IL offsets. 0 or -errno. */
int op_runtime_dotnet_pdb_points(const struct op_dotnet_pdb *pdb, uint32_t row,
				 struct op_dotnet_points *points);
/* Add the path of document @row to @name. 0 or -errno. */
int op_runtime_dotnet_pdb_document(const struct op_dotnet_pdb *pdb, uint32_t row,
				   struct op_strbuf *name);

#endif
