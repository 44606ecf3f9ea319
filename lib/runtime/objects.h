/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was read of a process's objects (code objects, functions, methods), by their address.
 * Bounded by their number and their bytes: beyond, all are dropped and read anew.
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

/* Nothing that was given out is in use: drop all where there are too many. Before each frame. */
void op_objects_begin(struct op_objects *objects);
/* The object at @addr with its number in *@ret_at; or NULL, and UINT64_MAX. */
void *op_objects_find(const struct op_objects *objects, uint64_t addr, uint64_t *ret_at);
/* Put @object of @addr in the place of number @at, or at the end (UINT64_MAX). Takes it in any
 * case. Returns 0 or -ENOMEM. */
int op_objects_keep(struct op_objects *objects, uint64_t addr, void *object, uint64_t at);
void op_objects_deinit(struct op_objects *objects);

#endif
