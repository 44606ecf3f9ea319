/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of one process, as far as frames named them: name, file and line table, read
 * once. A Method's memory may be given to another one when its class loader is gone, so an
 * entry is checked against the process once a window, and a bytecode's address must lie in
 * the method's bytecodes.
 */
#ifndef OP_RUNTIME_HOTSPOT_METHODS_H
#define OP_RUNTIME_HOTSPOT_METHODS_H

#include <stdint.h>

#include "base/memory.h"
#include "runtime/hotspot/layout.h"
#include "runtime/objects.h"

enum {
	OP_HOTSPOT_METHODS_MAX =
		32768, /* entries; beyond, all are dropped and read anew */
	OP_HOTSPOT_METHODS_BYTES = 8 << 20, /* of their strings and tables; the same */
	OP_HOTSPOT_SYMBOL_MAX = 4096,	    /* bytes of a name; longer ones are cut */
	OP_HOTSPOT_LINES_MAX = 65536,	    /* bytes of a line table; the same */
};

struct op_hotspot_method {
	uint64_t addr;
	uint64_t cookie;     /* hash of the members that do not change */
	uint64_t code;	     /* address of the bytecodes */
	uint32_t code_bytes; /* 0: a native method */
	uint32_t window;     /* in which it was checked last */
	uint32_t file;	     /* where in text the file's name begins */
	uint32_t lines;	     /* and the line table */
	uint32_t lines_len;
	char text[]; /* name, NUL, file, NUL, line table */
};

struct op_hotspot_methods {
	const struct op_memory *memory;
	const struct op_hotspot_layout *layout;
	struct op_objects objects;
	uint32_t window;
	uint64_t reads;	  /* methods read whole */
	uint64_t changed; /* of them: the address was another method's before */
};

/* Borrows @memory and @layout. */
void op_runtime_hotspot_methods_init(struct op_hotspot_methods *methods,
				     const struct op_memory *memory,
				     const struct op_hotspot_layout *layout);
void op_runtime_hotspot_methods_deinit(struct op_hotspot_methods *methods);

/* Begin a frame: drop all where there are too many. */
void op_runtime_hotspot_methods_begin(struct op_hotspot_methods *methods);

/* The Method at @addr that ran the bytecode at @bcp (0: none is known). *@ret is borrowed
 * until the next frame. Returns 0; -EBADMSG where it is none, or another one by now; the
 * error of reading; -ENOMEM. */
int op_runtime_hotspot_methods_get(struct op_hotspot_methods *methods, uint64_t addr,
				   uint64_t bcp, const struct op_hotspot_method **ret);

#endif
