/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of the methods of one process that frames named: name, file and line table.
 * When a class is unloaded, other Methods get its memory. So each Method is kept under
 * its address and its identity (identity.h), and the data of another one is refused.
 */
#ifndef OP_RUNTIME_HOTSPOT_METHODS_H
#define OP_RUNTIME_HOTSPOT_METHODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "runtime/hotspot/layout.h"
#include "runtime/objects.h"

enum {
	/* entries; beyond that all are dropped and read again */
	OP_HOTSPOT_METHODS_MAX = 32768,
	/* the same limit for the bytes of strings and tables */
	OP_HOTSPOT_METHODS_BYTES = 8 << 20,
	OP_HOTSPOT_SYMBOL_MAX = 4096, /* bytes of a name; longer ones are cut */
	OP_HOTSPOT_LINES_MAX = 65536, /* bytes of a line table; the rest is cut */
};

struct op_hotspot_method {
	uint64_t addr;
	uint32_t check;	     /* its identity at that address */
	bool whole;	     /* it lacks nothing that could still be read */
	uint64_t code;	     /* address of the bytecodes */
	uint32_t code_bytes; /* 0: a native method */
	uint32_t window;     /* window in which it was read last, if it is not whole */
	uint32_t file;	     /* offset of the file's name in text */
	uint32_t lines;	     /* offset of the line table */
	uint32_t lines_len;
	char text[]; /* name, NUL, file, NUL, line table */
};

struct op_hotspot_methods {
	const struct op_memory *memory;
	const struct op_hotspot_layout *layout;
	struct op_objects objects;
	uint32_t window;
	uint64_t reads;	  /* methods read whole */
	uint64_t changed; /* reads that found another method at the address */
};

/* Borrows @memory and @layout, which must outlive @methods. */
void op_runtime_hotspot_methods_init(struct op_hotspot_methods *methods,
				     const struct op_memory *memory,
				     const struct op_hotspot_layout *layout);
void op_runtime_hotspot_methods_deinit(struct op_hotspot_methods *methods);

/* Begin a frame: drops all entries if there are too many. */
void op_runtime_hotspot_methods_begin(struct op_hotspot_methods *methods);

/*
 * Get the Method at @addr that has the identity @check; 0: any. *@ret is borrowed until
 * the next frame. Returns 0; -EBADMSG if it is not a Method; -ESTALE if it is another
 * one by now; an error of reading; -ENOMEM.
 */
int op_runtime_hotspot_methods_get(struct op_hotspot_methods *methods, uint64_t addr,
				   uint32_t check, const struct op_hotspot_method **ret);

/* Keep the Method at @addr, whose data is in @copy, under the identity in the copy.
 * *@ret_key is for op_runtime_hotspot_methods_find(). Returns 0; -EBADMSG; an error of
 * reading; -ENOMEM. */
int op_runtime_hotspot_methods_add(struct op_hotspot_methods *methods, uint64_t addr,
				   const struct op_memory *copy, uint64_t *ret_key);
/* The Method that was kept with @key, or NULL. */
const struct op_hotspot_method *
op_runtime_hotspot_methods_find(const struct op_hotspot_methods *methods, uint64_t key);

/*
 * Does a Method still belong to the class that gives it its name? When a class is
 * unloaded, the memory of its constant pool, of its methods and of the class itself is
 * reused, each at a different time. Data that is read then may be a mixture of several
 * classes.
 */
struct op_hotspot_claim {
	uint64_t method;
	uint64_t klass;
	uint64_t pool;	   /* the constant pool that has the method's name */
	uint32_t pool_len; /* slots */
	uint64_t name;	   /* the Symbol of the method's name */
};

/* Returns 0; -EBADMSG if the Method does not belong to the class; or an error of
 * reading. If the VM does not publish the members that this check needs, the claim is
 * accepted. */
int op_runtime_hotspot_check_owner(const struct op_memory *memory,
				   const struct op_hotspot_layout *layout,
				   const struct op_hotspot_claim *claim);

/* May a method have this name (JVM specification, 4.2.2)? */
bool op_runtime_hotspot_is_method_name(const uint8_t *name, size_t len);

#endif
