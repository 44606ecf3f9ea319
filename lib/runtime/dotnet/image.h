/* SPDX-License-Identifier: Apache-2.0 */
/* Examines a file that may be CoreCLR: libcoreclr.so, or a program that contains it. */
#ifndef OP_RUNTIME_DOTNET_IMAGE_H
#define OP_RUNTIME_DOTNET_IMAGE_H

#include <stdint.h>

#include "base/log.h"
#include "code/elf/file.h"
#include "runtime/dotnet/layout.h"

struct op_dotnet_image {
	struct op_dotnet_layout layout;
	uint64_t table; /* ELF address of g_dacTable */
};

/* Returns 1 and *@ret, 0 if the file is not CoreCLR, -ENOTSUP for an unknown version, or
 * -errno. */
int op_runtime_dotnet_image(struct op_elf *elf, const char *path,
			    const struct op_layouts *layouts, struct op_log *log,
			    struct op_dotnet_image *ret);

#endif
