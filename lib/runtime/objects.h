/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of what was read of a process's objects (code objects, functions, methods), by
 * their address. Their number and their bytes are limited: beyond that all are dropped
 * and read again.
 */
#ifndef OP_RUNTIME_OBJECTS_H
#define OP_RUNTIME_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

struct op_objects_kind {
	size_t max;
	uint64_t bytes_max;
	size_t (*bytes)(const void *object);
	void (*free)(void *object);
};

struct op_objects {
	const struct op_objects_kind *kind;
	struct op_map64 by_addr;
	OP_VEC(void *) all;
	uint64_t bytes;
};

static inline struct op_objects op_objects_init(const struct op_objects_kind *kind)
{
	return (struct op_objects){ .kind = kind };
}

/* Call before each frame, when nothing that was given out is in use: drops all objects if
 * there are too many. */
void op_objects_begin(struct op_objects *objects);
/* Find the object at @addr; its index goes to *@ret_at. Returns NULL and UINT64_MAX if
 * there is none. */
void *op_objects_find(const struct op_objects *objects, uint64_t addr, uint64_t *ret_at);
/* Store @object, read from @addr, at index @at, or at the end (UINT64_MAX). Takes
 * ownership of @object in any case. Returns 0 or -ENOMEM. */
int op_objects_keep(struct op_objects *objects, uint64_t addr, void *object, uint64_t at);
void op_objects_deinit(struct op_objects *objects);

#endif
