/* SPDX-License-Identifier: Apache-2.0 */
/* Which function of a ReadyToRun image is a method's code: a NativeArray. For instances of
 * generic methods it is a NativeHashtable
 * (docs/design/coreclr/botr/readytorun-format.md of dotnet/runtime). */
#ifndef OP_RUNTIME_DOTNET_PE_ENTRIES_H
#define OP_RUNTIME_DOTNET_PE_ENTRIES_H

#include <stdint.h>

#include "runtime/dotnet/pe/pe.h"

struct op_dotnet_entries {
	const struct op_memory *memory; /* borrowed */
	uint64_t at;
	uint32_t size;
	uint32_t count;
	uint32_t base;	      /* of the offsets of blocks */
	uint32_t index_bytes; /* of an offset */
};

/* Open section @type of READYTORUN_HEADER. Returns 0, -ENOENT, -EBADMSG or an error of reading. */
int op_runtime_dotnet_entries(const struct op_dotnet_pe *pe, uint32_t type,
			      struct op_dotnet_entries *ret);
/* The function of entry @index. Returns 1; 0 if it has none; or -errno. */
int op_runtime_dotnet_entry(const struct op_dotnet_entries *e, uint32_t index,
			    uint32_t *ret);

struct op_dotnet_instances {
	struct op_dotnet_entries e;
	uint64_t off; /* of the next one */
	uint64_t end;
};

/* As op_runtime_dotnet_entries(). */
int op_runtime_dotnet_instances(const struct op_dotnet_pe *pe, uint32_t type,
				struct op_dotnet_instances *ret);
/* The next instance: its function, and the row of its method, 0 if another image has that.
 * Returns 1, 0 after the last, or -errno. */
int op_runtime_dotnet_instance(struct op_dotnet_instances *i, uint32_t *ret_function,
			       uint32_t *ret_row);

#endif
