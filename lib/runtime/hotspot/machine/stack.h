/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the stack pointer through hand-written machine code of the VM, its stubs.
 * They have no unwind data, and many of them no frame record. Each is entered with the
 * return address at rsp. From there on the instructions show how far away the caller's
 * frame is, and where the caller's rbp is.
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
	uint32_t lost; /* rules that did not fit */
};

/*
 * Append the rules of the @len bytes at @code, whose first byte's offset in rules is
 * @at. A rule gives the place of the caller's frame. It is unknown in data, in code to
 * which no path leads, and where rsp gets a computed value. Returns 0 or -ENOMEM.
 */
int op_runtime_hotspot_stack(const uint8_t *code, size_t len, uint32_t at,
			     struct op_hotspot_stack_rules *to);

#endif
