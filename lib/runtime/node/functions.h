/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of the functions (SharedFunctionInfo objects) of one process that frames named.
 * The garbage collector may move an object and reuse its memory for another. So the
 * function's id in its script is compared, and each entry is read again once a window.
 */
#ifndef OP_RUNTIME_NODE_FUNCTIONS_H
#define OP_RUNTIME_NODE_FUNCTIONS_H

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "runtime/node/heap.h"
#include "runtime/node/scripts.h"

enum {
	/* entries; beyond that all are dropped and read again */
	OP_NODE_FUNCTIONS_MAX = 16384,
};

struct op_node_function {
	uint64_t object; /* points to the SharedFunctionInfo */
	uint64_t cookie; /* hash of the members that do not change */
	uint64_t script; /* points to the Script; not checked */
	uint32_t id;	 /* id within the script */
	uint32_t window; /* the window of the last check */
	int32_t start;	 /* character in the source; < 0: unknown */
	char *name;
};

struct op_node_functions {
	const struct op_node_heap *heap;
	struct op_node_scripts scripts;
	struct op_map64 by_object;
	OP_VEC(struct op_node_function) all;
	uint32_t window;
	uint64_t reads; /* functions read whole */
};

/* Borrows @heap. */
void op_runtime_node_functions_init(struct op_node_functions *functions,
				    const struct op_node_heap *heap);
void op_runtime_node_functions_deinit(struct op_node_functions *functions);
void op_runtime_node_functions_window(struct op_node_functions *functions);

/* Drop all entries if there are too many; strings given out before are freed then. Call
 * this before the functions of a frame are read. */
void op_runtime_node_functions_trim(struct op_node_functions *functions);

/*
 * Get the SharedFunctionInfo that @object points to. If @id is not NULL, it must have
 * that id. *@ret is borrowed until the next call, its name until room is made. Returns 0;
 * -EBADMSG if it is not one, or a different one by now; an error of reading; -ENOMEM.
 */
int op_runtime_node_function(struct op_node_functions *functions, uint64_t object,
			     const uint32_t *id, const struct op_node_function **ret);

#endif
