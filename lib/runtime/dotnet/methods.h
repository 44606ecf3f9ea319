/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of the names of a process's compiled methods. */
#ifndef OP_RUNTIME_DOTNET_METHODS_H
#define OP_RUNTIME_DOTNET_METHODS_H

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "runtime/dotnet/layout.h"
#include "runtime/dotnet/lines.h"
#include "runtime/dotnet/module.h"
#include "runtime/objects.h"

enum {
	/* names and modules; past that all are dropped and read again */
	OP_DOTNET_METHODS_MAX = 16384,
	OP_DOTNET_METHODS_BYTES = 4 << 20,
	OP_DOTNET_MODULES_MAX = 1024,
	/* open PDBs of a process; past that methods have no lines */
	OP_DOTNET_PDBS_MAX = 32,
};

/* The code of a method. Its text follows the rows: its name, then the paths of files,
 * whose offsets are in row[].document. */
struct op_dotnet_method {
	uint64_t desc; /* MethodDesc */
	uint32_t guard;
	uint32_t window; /* the window of the last read */
	uint32_t text_bytes;
	uint32_t rows;
	struct op_dotnet_row row[];
};

static inline const char *op_runtime_dotnet_method_text(const struct op_dotnet_method *m)
{
	return (const char *)(m->row + m->rows);
}

struct op_dotnet_methods {
	const struct op_memory *memory;
	const struct op_dotnet_layout *layout;
	struct op_objects objects;
	OP_VEC(struct op_dotnet_module *) modules;
	struct op_dotnet_module *wants; /* the last method needs its PDB */
	uint32_t pdbs;			/* open */
	uint32_t window;
	uint64_t reads; /* names read */
};

/* Borrows @memory and @layout. */
void op_runtime_dotnet_methods_init(struct op_dotnet_methods *methods,
				    const struct op_memory *memory,
				    const struct op_dotnet_layout *layout);
void op_runtime_dotnet_methods_deinit(struct op_dotnet_methods *methods);

/* The path of the PDB that the last method needs for its lines, or NULL. */
const char *op_runtime_dotnet_methods_file(const struct op_dotnet_methods *methods);
/* Pass that file, open as @fd, which is taken, or a -errno. */
void op_runtime_dotnet_methods_take(struct op_dotnet_methods *methods, int fd);
/* Get the method of a frame by its words (op_dotnet.h). *@ret is borrowed until the next
 * call. Returns 0, -EBADMSG if it was freed, -ENOMEM, or an error of reading. */
int op_runtime_dotnet_methods_get(struct op_dotnet_methods *methods,
				  const uint64_t words[3],
				  const struct op_dotnet_method **ret);

#endif
