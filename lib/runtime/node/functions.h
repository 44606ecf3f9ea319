/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of the functions (SharedFunctionInfo objects) of one process that frames
 * named. The garbage collector may move an object and reuse its memory for another. So
 * each is identified by its address and op_node_check(). Most entries come as copies that
 * the kernel made.
 */
#ifndef OP_RUNTIME_NODE_FUNCTIONS_H
#define OP_RUNTIME_NODE_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "runtime/node/heap.h"

#include "op_user_types.h"

/* A cache of the scripts of one process: their names, and where their lines end. */
enum {
	/* entries; beyond that all are dropped and read again */
	OP_NODE_SCRIPTS_MAX = 4096,
	/* lines of all scripts; beyond that all are dropped, and until then further
	 * scripts have no lines */
	OP_NODE_LINES_MAX = 4 << 20,
	/* bytes of a source that is searched for line ends */
	OP_NODE_SOURCE_MAX = 16 << 20,
	/* times that a script is read until it has lines, because the collector may be
	 * moving its text */
	OP_NODE_SCRIPT_READS = 4,
};

struct op_node_script {
	uint64_t object; /* points to the Script */
	uint64_t id; /* number in the Script; no two scripts of a process have the same */
	/* line at which its text begins in its file, counted from 0; negative if V8 put
	 * text in front */
	int32_t first_line;
	int32_t first_column;
	unsigned int reads; /* at OP_NODE_SCRIPT_READS the search for its lines ends */
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
	uint64_t refused; /* scripts whose lines did not fit */
	bool full;	  /* others occupy memory that a script was refused */
};

/* Borrows @heap. */
void op_runtime_node_scripts_init(struct op_node_scripts *scripts,
				  const struct op_node_heap *heap);
void op_runtime_node_scripts_deinit(struct op_node_scripts *scripts);

/* Drop all entries if there are too many. This frees strings given out before. */
void op_runtime_node_scripts_trim(struct op_node_scripts *scripts);

/* The script @object. With @id (not NULL), the one that had that id there. *@ret is
 * borrowed until the next call, its name until entries are dropped. Returns 0; -EBADMSG
 * if @object is not a Script; -ESTALE if it is another one by now; an error of reading;
 * -ENOMEM. */
int op_runtime_node_script(struct op_node_scripts *scripts, uint64_t object,
			   const uint64_t *id, const struct op_node_script **ret);
/* The line and column of character @offset, each counted from 1, columns in UTF-16 units as V8
 * counts them; 0: unknown. */
struct op_node_place op_runtime_node_place(const struct op_node_script *script,
					   int32_t offset);

enum {
	/* entries; beyond that all are dropped and read again */
	OP_NODE_FUNCTIONS_MAX = 16384,
};

struct op_node_function {
	uint64_t object;    /* points to the SharedFunctionInfo */
	uint64_t script;    /* points to the Script; not checked */
	uint64_t script_id; /* 0: it could not be read */
	uint32_t check;	    /* op_node_check() */
	int32_t start;	    /* character in the source; < 0: unknown */
	int32_t end;	    /* the character after it; 0: unknown */
	char *name;
};

/* Can the character @at of the source be in @f? A table of positions may belong to another
 * function, which had the memory before or has it now. */
static inline bool op_node_function_has(const struct op_node_function *f, int32_t at)
{
	return f->start < 0 || !f->end || (at >= f->start && at <= f->end);
}

struct op_node_functions {
	const struct op_node_heap *heap;
	struct op_node_scripts scripts;
	struct op_map64 by_object;
	OP_VEC(struct op_node_function) all;
	uint64_t reads; /* functions read whole */
};

/* Borrows @heap. */
void op_runtime_node_functions_init(struct op_node_functions *functions,
				    const struct op_node_heap *heap);
void op_runtime_node_functions_deinit(struct op_node_functions *functions);

/* Drop all entries if there are too many. This frees strings given out before. Call
 * this before the functions of a frame are read. */
void op_runtime_node_functions_trim(struct op_node_functions *functions);

/* The pieces of memory that name a function, for a process with the layout @l. */
void op_runtime_node_copies(const struct op_node_layout *l,
			    struct op_object_step ret[OP_OBJECT_STEPS]);

/* The op_node_check() of the SharedFunctionInfo to which @object points. Returns 0; -EBADMSG
 * if it is not one; an error of reading. */
int op_runtime_node_function_check(const struct op_node_heap *heap, uint64_t object,
				   uint32_t *ret);
/*
 * Get the SharedFunctionInfo to which @object points, which had that op_node_check().
 * *@ret is borrowed until the next call, its name until entries are dropped. Returns 0;
 * -EBADMSG if it is not one; -ESTALE if it is a different one by now; an error of
 * reading; -ENOMEM.
 */
int op_runtime_node_function(struct op_node_functions *functions, uint64_t object,
			     uint32_t check, const struct op_node_function **ret);

#endif
