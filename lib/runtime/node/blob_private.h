/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by blob.c and texts.c. */
#ifndef OP_RUNTIME_NODE_BLOB_PRIVATE_H
#define OP_RUNTIME_NODE_BLOB_PRIVATE_H

#include "runtime/node/blob.h"

struct op_node_builtin {
	uint32_t offset; /* from the first builtin's start */
	uint32_t length;
};

/* The places of all builtins, in order, each at a multiple of @align. */
struct op_node_places {
	struct op_node_builtin *at;
	uint32_t count;
	uint32_t align;
};

struct op_node_found {
	struct op_elf *elf;
	struct op_node_places places;
	uint32_t tries;
};

enum {
	/* No pattern that is searched is longer. */
	OP_NODE_SCAN_OVERLAP = 1024,
};

/* @len bytes at file offset @off. A value other than 0 ends the scan and is returned. */
typedef int (*op_node_scan_fn)(void *data, const uint8_t *bytes, size_t len,
			       uint64_t off);
/* Call @fn for .rodata in pieces, each of which repeats OP_NODE_SCAN_OVERLAP bytes of
 * the one before. Returns its value; 0; or -errno. */
int op_runtime_node_scan(struct op_elf *elf, op_node_scan_fn fn, void *data);

/* Fill in the version (with @version) and the sizes of bytecodes of *@ret, if they are
 * found, and in *@ret_prologue the number of BaselineOutOfLinePrologue among @builtins,
 * or 0. Returns 1 or -errno. */
int op_runtime_node_texts(struct op_elf *elf, uint32_t builtins, bool version,
			  struct op_node_blob *ret, uint32_t *ret_prologue);

#endif
