/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An image of .NET: a PE file, as it is in memory (a file that is mapped or read as it is), or
 * with its sections where they are loaded. Microsoft's PE/COFF specification; ECMA-335,
 * partition II, 25; docs/design/coreclr/botr/readytorun-format.md of dotnet/runtime.
 */
#ifndef OP_RUNTIME_DOTNET_PE_PE_H
#define OP_RUNTIME_DOTNET_PE_PE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"

enum {
	OP_DOTNET_SECTIONS_MAX = 16,
	OP_DOTNET_PDB_NAME_MAX = 256, /* bytes, with its NUL */
	OP_DOTNET_READY_MAX = 64, /* sections of code that was compiled ahead of time */
	/* the machine of an image with x86-64 code for Linux */
	OP_DOTNET_MACHINE_X86_64 = 0x8664 ^ 0x7b79,
};

struct op_dotnet_section {
	uint32_t rva;
	uint32_t bytes; /* loaded */
	uint32_t offset;
	uint32_t size; /* in the file */
	uint32_t flags;
};

/* A place in an image: where it is loaded, from the image's beginning on. */
struct op_dotnet_place {
	uint32_t rva;
	uint32_t size;
};

struct op_dotnet_pe {
	const struct op_memory *memory; /* borrowed */
	uint64_t base;
	bool flat; /* it is as in the file */
	uint16_t machine;
	uint32_t sections;
	struct op_dotnet_section section[OP_DOTNET_SECTIONS_MAX];
	struct op_dotnet_place metadata;
	struct op_dotnet_place ready; /* READYTORUN_HEADER; 0: it has no code */
	struct op_dotnet_place debug; /* the debug directory */
};

/* Read the headers of the image at @base. Returns 0, -ENOEXEC if it is none, or -errno. */
int op_runtime_dotnet_pe(const struct op_memory *memory, uint64_t base,
			 struct op_dotnet_pe *ret);
/* The address in memory of the @len bytes at @rva; 0 where the image has none. */
uint64_t op_runtime_dotnet_pe_at(const struct op_dotnet_pe *pe, uint32_t rva,
				 uint32_t len);
/* The PDB of the image, by its CodeView record: *@ret_id, and the last part of its path. Returns 0,
 * -ENOENT if it names none, -EBADMSG, or -errno. */
int op_runtime_dotnet_pe_pdb(const struct op_dotnet_pe *pe, uint8_t ret_id[20],
			     char ret_name[OP_DOTNET_PDB_NAME_MAX]);
/* The place of a section of READYTORUN_HEADER. Returns 1, 0 if there is none, or -errno. */
int op_runtime_dotnet_pe_ready(const struct op_dotnet_pe *pe, uint32_t type,
			       struct op_dotnet_place *ret);

#endif
