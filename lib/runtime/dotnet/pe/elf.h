/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of .NET with code that was compiled ahead of time (ReadyToRun), as ELF files: what the
 * library does with files of code, it does with them. The ELF file has the unwind data as
 * .eh_frame and the names of methods as .symtab; its code is a hole.
 */
#ifndef OP_RUNTIME_DOTNET_PE_ELF_H
#define OP_RUNTIME_DOTNET_PE_ELF_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum {
	OP_DOTNET_FUNCTIONS_MAX = 1 << 19,     /* functions of an image */
	OP_DOTNET_FUNCTION_BYTES = 12,	       /* of a RUNTIME_FUNCTION */
	OP_DOTNET_FUNCTION_CODE_MAX = 1 << 20, /* bytes of a function's code */
	OP_DOTNET_IMAGE_MAX = 512 << 20,
};

struct op_dotnet_bytes {
	OP_VEC(uint8_t) v;
	int failed;
};

void op_runtime_dotnet_put(struct op_dotnet_bytes *b, const void *bytes, size_t len);
void op_runtime_dotnet_put_u32(struct op_dotnet_bytes *b, uint32_t n);

/* One function: its code, [begin, end) in the image, and its UNWIND_INFO. */
struct op_dotnet_function {
	uint32_t begin;
	uint32_t end;
	const uint8_t *code; /* end - begin bytes */
	const uint8_t *info;
	size_t info_len;
};

/* Begin an .eh_frame: its CIE. */
void op_runtime_dotnet_cie(struct op_dotnet_bytes *b);
/* Add the FDE of a function. A function whose unwind data has an unknown form gets
 * none. */
void op_runtime_dotnet_fde(struct op_dotnet_bytes *b, const struct op_dotnet_function *f);

/* Make the ELF file of the image @fd, which is borrowed. Returns 0 and a descriptor of a file
 * in memory; -ENOEXEC if it is no such image; or -errno. */
int op_runtime_dotnet_elf(int fd, int *ret);

#endif
