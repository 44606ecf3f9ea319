/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a Method still belong to the class that it would be named by? When a class is unloaded,
 * the memory of its constant pool, of its methods and of the class itself is used again, each
 * at a time of its own: what is read then is made of several classes.
 */
#ifndef OP_RUNTIME_HOTSPOT_OWNER_H
#define OP_RUNTIME_HOTSPOT_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "runtime/hotspot/layout.h"

struct op_hotspot_claim {
	uint64_t method;
	uint64_t klass;
	uint64_t pool;	   /* that the method is named by */
	uint32_t pool_len; /* slots */
	uint64_t name;	   /* the Symbol of the method's name */
};

/* Returns 0; -EBADMSG where it does not belong to it; the error of reading. A VM that does not
 * tell the members that this takes is believed. */
int op_runtime_hotspot_check_owner(const struct op_memory *memory,
				   const struct op_hotspot_layout *layout,
				   const struct op_hotspot_claim *claim);

/* May a method be called this? JVM specification 4.2.2. */
bool op_runtime_hotspot_is_method_name(const uint8_t *name, size_t len);

#endif
