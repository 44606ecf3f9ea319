/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of .NET's own objects: dotnet.layout has a section for each minor version. */
#ifndef OP_RUNTIME_DOTNET_LAYOUT_H
#define OP_RUNTIME_DOTNET_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/layouts.h"

/* Offsets in bytes. dotnet.layout explains each. */
struct op_dotnet_layout {
	uint16_t module_base;
	uint16_t module_assembly;
	uint16_t assembly_image;
	uint16_t image_layout;
	uint16_t layout_base;
	uint16_t dynamic_name;
	uint16_t image_path;
	uint16_t patchpoint_locals;
	uint16_t patchpoint_rest;
	uint16_t packed_bounds;
	uint16_t task_continuation;
	uint16_t task_state;
	uint16_t row_bits;
};

/* Offsets that have been the same since .NET 8. */
enum {
	OP_DOTNET_METHOD_FLAGS = 6, /* MethodDesc */
	OP_DOTNET_METHOD_KIND = 7,  /* of these flags */
	OP_DOTNET_METHOD_DYNAMIC = 7,
	OP_DOTNET_METHOD_ARRAY = 4,
	OP_DOTNET_TOKEN_BITS =
		12, /* bits of the token in the MethodDesc; the others are in the chunk */
	OP_DOTNET_CHUNK_TOKEN = 18,
};

extern const struct op_layouts_schema op_runtime_dotnet_layouts;

/* The text of dotnet.layout. */
extern const unsigned char op_runtime_dotnet_layout_text[];
extern const size_t op_runtime_dotnet_layout_text_len;

#endif
