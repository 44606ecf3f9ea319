/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of the names of methods that a process has compiled. */
#ifndef OP_RUNTIME_DOTNET_METHODS_H
#define OP_RUNTIME_DOTNET_METHODS_H

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "runtime/dotnet/layout.h"
#include "runtime/dotnet/metadata.h"
#include "runtime/objects.h"

enum {
	/* names and modules; beyond that all are dropped and read again */
	OP_DOTNET_METHODS_MAX = 16384,
	OP_DOTNET_METHODS_BYTES = 4 << 20,
	OP_DOTNET_MODULES_MAX = 1024,
};

/* The code of a method. */
struct op_dotnet_method {
	uint64_t desc; /* MethodDesc */
	uint32_t guard;
	uint32_t window; /* the window of the last read */
	char name[];
};

/* A module's metadata. */
struct op_dotnet_module {
	uint64_t addr;
	uint64_t base; /* of its image */
	struct op_dotnet_metadata metadata;
};

struct op_dotnet_methods {
	const struct op_memory *memory;
	const struct op_dotnet_layout *layout;
	struct op_objects objects;
	OP_VEC(struct op_dotnet_module *) modules;
	uint32_t window;
	uint64_t reads; /* names read */
};

/* Borrows @memory and @layout. */
void op_runtime_dotnet_methods_init(struct op_dotnet_methods *methods,
				    const struct op_memory *memory,
				    const struct op_dotnet_layout *layout);
void op_runtime_dotnet_methods_deinit(struct op_dotnet_methods *methods);

/* The method of a frame by its words (op_dotnet.h). *@ret is borrowed until the next call.
 * Returns 0; -EBADMSG if it is gone; an error of reading; -ENOMEM. */
int op_runtime_dotnet_methods_get(struct op_dotnet_methods *methods,
				  const uint64_t words[3],
				  const struct op_dotnet_method **ret);

#endif
