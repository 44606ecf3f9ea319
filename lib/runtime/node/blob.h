/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds V8 in a file without symbols. V8's builtins are one piece of code, and a table
 * in .rodata has the place of each. The gaps between them are filled with int3, so that
 * only the right place in .text matches the whole table. Their names, V8's version and
 * the sizes of its bytecodes are also in .rodata.
 */
#ifndef OP_RUNTIME_NODE_BLOB_H
#define OP_RUNTIME_NODE_BLOB_H

#include <stdbool.h>
#include <stdint.h>

#include "code/elf/file.h"
#include "runtime/node/code.h"

enum {
	/* builtins of a table; versions have 1,700 to 2,600 */
	OP_NODE_BUILTINS_LEAST = 1024,
	OP_NODE_BUILTINS_MOST = 8192,
	OP_NODE_VERSION_BYTES = 16,
};

struct op_node_blob {
	uint64_t builtins; /* [builtins, builtins_end), an ELF address */
	uint64_t builtins_end;
	uint64_t prologue; /* BaselineOutOfLinePrologue; 0: not found */
	uint64_t prologue_end;
	struct op_node_opcodes opcodes; /* count 0: not found */
	/* "15.6"; "": not found, or two different ones */
	char version[OP_NODE_VERSION_BYTES];
};

/* @version: search for the version, too. Returns 1 with *@ret; 0 if @elf has no
 * builtins; or -errno. */
int op_runtime_node_blob(struct op_elf *elf, bool version, struct op_node_blob *ret);

#endif
