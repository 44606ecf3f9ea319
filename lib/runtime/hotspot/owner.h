/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a Method still belong to the class that would give it its name? When a class is
 * unloaded, the memory of its constant pool, of its methods and of the class itself is
 * reused, each at its own time. What is read then may be a mixture of several classes.
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
	uint64_t pool;	   /* the constant pool that has the method's name */
	uint32_t pool_len; /* slots */
	uint64_t name;	   /* the Symbol of the method's name */
};

/* Returns 0; -EBADMSG if the Method does not belong to the class; or an error of reading.
 * If the VM does not publish the members that this check needs, the claim is accepted. */
int op_runtime_hotspot_check_owner(const struct op_memory *memory,
				   const struct op_hotspot_layout *layout,
				   const struct op_hotspot_claim *claim);

/* May a method have this name (JVM specification, 4.2.2)? */
bool op_runtime_hotspot_is_method_name(const uint8_t *name, size_t len);

#endif
