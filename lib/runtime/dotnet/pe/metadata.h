/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metadata of an image of .NET (ECMA-335, partition II, 22 and 24), as far as it names
 * methods. Nothing is kept of it but where its tables are: a row is read when it is asked for.
 */
#ifndef OP_RUNTIME_DOTNET_PE_METADATA_H
#define OP_RUNTIME_DOTNET_PE_METADATA_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/reader.h"
#include "base/strbuf.h"

enum {
	OP_DOTNET_TABLES = 0x2d,
	OP_DOTNET_NAME_MAX = 1024, /* bytes of one name in the metadata */
	OP_DOTNET_NESTED_MAX = 16, /* types that a type stands in */
	OP_DOTNET_METHOD_DEF = 0x06,
};

struct op_dotnet_table {
	uint64_t at;
	uint32_t rows;
	uint32_t bytes; /* of a row */
};

struct op_dotnet_metadata {
	const struct op_memory *memory; /* borrowed */
	uint64_t strings;
	uint32_t strings_size;
	uint8_t heaps; /* HeapSizes */
	struct op_dotnet_table table[OP_DOTNET_TABLES];
};

/* A compressed number of 1, 2 or 4 bytes (ECMA-335, II.23.2). *@ret_bits:
 * its bits. */
uint32_t op_runtime_dotnet_sized_number(struct op_reader *r, uint32_t *ret_bits);
uint32_t op_runtime_dotnet_number(struct op_reader *r);

/* Read where the tables of the metadata of @size bytes at @at are. Returns 0, -EBADMSG, or an
 * error of reading. */
int op_runtime_dotnet_metadata(const struct op_memory *memory, uint64_t at, uint32_t size,
			       struct op_dotnet_metadata *ret);

/*
 * Add the name of method @token to @name: Namespace.Type.Inner.Method. What the C# compiler
 * makes of lambdas, local functions, iterators and async methods has the name of the method
 * in whose source it stands. Returns 0; -ENOENT if there is no such method; -EBADMSG; -ENOMEM; or
 * an error of reading.
 */
int op_runtime_dotnet_method_name(const struct op_dotnet_metadata *m, uint32_t token,
				  struct op_strbuf *name);

/* Is it of the assembly @name? Returns 1, 0, or a negative number. */
int op_runtime_dotnet_assembly_is(const struct op_dotnet_metadata *m, const char *name);
/* Find the row of the type @name that is private to another type. Returns 0, -ENOENT, or
 * another error. */
int op_runtime_dotnet_private_type(const struct op_dotnet_metadata *m, const char *name,
				   uint32_t *ret);
/* Find the row of the method that runs the state machine @type. Returns the same. */
int op_runtime_dotnet_machine_method(const struct op_dotnet_metadata *m, uint32_t type,
				     uint32_t *ret);

#endif
