/* SPDX-License-Identifier: Apache-2.0 */
/* A module of a process: its metadata, and its PDB. */
#ifndef OP_RUNTIME_DOTNET_MODULE_H
#define OP_RUNTIME_DOTNET_MODULE_H

#include <stdint.h>

#include "runtime/dotnet/layout.h"
#include "runtime/dotnet/pe/file.h"
#include "runtime/dotnet/pe/metadata.h"
#include "runtime/dotnet/pe/pdb.h"
#include "runtime/dotnet/pe/pe.h"

enum op_dotnet_pdb_state {
	OP_DOTNET_PDB_WANTED = 0, /* the path is module->path */
	OP_DOTNET_PDB_NONE,
	OP_DOTNET_PDB_OPEN,
};

struct op_dotnet_module {
	uint64_t addr;
	uint64_t base; /* of its image */
	struct op_dotnet_metadata metadata;
	enum op_dotnet_pdb_state state;
	char *path;
	uint8_t id[OP_DOTNET_PDB_ID_BYTES];
	int fd; /* of the PDB, if it is open */
	struct op_dotnet_file file;
	struct op_dotnet_pdb pdb;
};

/* Read the module at @addr. Returns 0, -EBADMSG, -ENOMEM, or an error of reading. */
int op_runtime_dotnet_module_new(const struct op_memory *memory,
				 const struct op_dotnet_layout *layout, uint64_t addr,
				 uint64_t base, struct op_dotnet_module **ret);
void op_runtime_dotnet_module_free(struct op_dotnet_module *module);
/* Read the address of the image of the module at @addr. Returns 0 or an error of
 * reading. */
int op_runtime_dotnet_module_base(const struct op_memory *memory,
				  const struct op_dotnet_layout *layout, uint64_t addr,
				  uint64_t *ret);
/* Pass the PDB that the module wants, open as @fd, or a -errno. */
void op_runtime_dotnet_module_take(struct op_dotnet_module *module, int fd);

#endif
