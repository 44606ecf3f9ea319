/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the stack pointer through hand-written machine code of the VM, its stubs. They have no
 * unwind data, and many of them no frame record. Each is entered with the return address at rsp;
 * from there on the instructions say how far the caller's frame is away, and where the
 * caller's rbp is.
 */
#ifndef OP_RUNTIME_HOTSPOT_MACHINE_STACK_H
#define OP_RUNTIME_HOTSPOT_MACHINE_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"

#include "op_hotspot.h"

enum {
	OP_HOTSPOT_STUBS_BYTES = 256 << 10, /* of code that is followed at once */
};

/* Rules in ascending order. */
struct op_hotspot_stack_rules {
	struct op_hotspot_rule *rule;
	uint32_t count;
	uint32_t max;
	uint32_t lost; /* for which there was no room */
};

/*
 * Append the rules of the @len bytes at @code, whose first byte's offset in rules is @at. A rule says
 * where the frame of the caller is, or that it is not known: so it is in data, in code that nothing
 * leads to, and where rsp takes a value that is computed. Returns 0 or -ENOMEM.
 */
int op_runtime_hotspot_stack(const uint8_t *code, size_t len, uint32_t at,
			     struct op_hotspot_stack_rules *to);

#endif
