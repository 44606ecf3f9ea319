/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of the functions (SharedFunctionInfo objects) of one process that frames named.
 * The garbage collector may move an object and reuse its memory for another. So the
 * function's id in its script is compared, and each entry is read again once a window.
 */
#ifndef OP_RUNTIME_NODE_FUNCTIONS_H
#define OP_RUNTIME_NODE_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "runtime/node/heap.h"

/* A cache of the scripts of one process: their names, and where their lines end. */
enum {
	/* entries; beyond that all are dropped and read again */
	OP_NODE_SCRIPTS_MAX = 4096,
	/* lines of all scripts; the same, and until then those of one script more are
	 * unknown */
	OP_NODE_LINES_MAX = 4 << 20,
	/* bytes of a source that is searched for line ends */
	OP_NODE_SOURCE_MAX = 16 << 20,
};

struct op_node_script {
	uint64_t object; /* points to the Script */
	uint64_t cookie; /* hash of the members that do not change */
	uint32_t window; /* the window of the last check */
	/* where its text begins in its file, counted from 0 */
	uint32_t first_line;
	uint32_t first_column;
	char *name;
	uint32_t *ends; /* offsets in the source at which lines end */
	size_t len;
};

struct op_node_place {
	uint32_t line;
	uint32_t column;
};

struct op_node_scripts {
	const struct op_node_heap *heap;
	struct op_map64 by_object;
	OP_VEC(struct op_node_script) all;
	size_t lines;
	uint64_t refused; /* scripts for whose lines there was no room */
	uint32_t window;
	bool full; /* others have the room that one was refused for */
};

/* Borrows @heap. */
void op_runtime_node_scripts_init(struct op_node_scripts *scripts,
				  const struct op_node_heap *heap);
void op_runtime_node_scripts_deinit(struct op_node_scripts *scripts);

/* Drop all entries if there are too many; strings given out before are freed then. */
void op_runtime_node_scripts_trim(struct op_node_scripts *scripts);

/* *@ret is borrowed until the next call, its name until room is made. Returns 0; -EBADMSG
 * if @object is not a Script; an error of reading; -ENOMEM. */
int op_runtime_node_script(struct op_node_scripts *scripts, uint64_t object,
			   const struct op_node_script **ret);
/* The line and column of character @offset, each counted from 1, columns in UTF-16 units as V8
 * counts them; 0: unknown. */
struct op_node_place op_runtime_node_place(const struct op_node_script *script,
					   int32_t offset);

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
