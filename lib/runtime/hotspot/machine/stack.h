/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the stack pointer through hand-written machine code of the VM, its stubs.
 * They have no unwind data, and many of them no frame record. From the entry on the
 * instructions show how far away the caller's frame is, and where the caller's fp is.
 */
#ifndef OP_RUNTIME_HOTSPOT_MACHINE_STACK_H
#define OP_RUNTIME_HOTSPOT_MACHINE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"

#include "op_hotspot.h"

enum {
	OP_HOTSPOT_STUBS_BYTES = 256 << 10, /* of code that is followed at once */
};

enum {
	OP_HOTSPOT_UNKNOWN = INT16_MIN,
	OP_HOTSPOT_SAME = INT16_MIN + 1, /* of struct op_hotspot_stack.base */
	OP_HOTSPOT_DISTANCE_MAX = 16384,
};

/*
 * Positions before an instruction. Distances are in bytes, downwards from the caller's
 * sp after the return. OP_HOTSPOT_UNKNOWN: not certain.
 */
struct op_hotspot_stack {
	int16_t depth; /* of sp */
	int16_t base;  /* of fp; OP_HOTSPOT_SAME: fp is the caller's */
	int16_t saved; /* of the slot with the caller's fp; 0: there is none */
	/* of the value of another register, which has a copy of sp */
	int16_t copied;
	/* after sp was aligned: of the earlier sp in the slot at sp + `slot` */
	int16_t kept;
	int16_t slot;
	uint8_t copy;  /* number of that register */
	uint8_t bytes; /* of the instruction */
	uint8_t phase; /* of stack.c */
	bool called;   /* aarch64: there was a call, so lr has another address */
};

static inline int16_t op_hotspot_distance(int64_t bytes)
{
	return bytes < -OP_HOTSPOT_DISTANCE_MAX || bytes > OP_HOTSPOT_DISTANCE_MAX
		       ? OP_HOTSPOT_UNKNOWN
		       : (int16_t)bytes;
}

/* Rules in ascending order. */
struct op_hotspot_stack_rules {
	struct op_hotspot_rule *rule;
	uint32_t count;
	uint32_t max;
	uint32_t lost; /* rules that did not fit */
};

struct op_hotspot_machine;

/*
 * Append the rules of the @len bytes at @code, whose first byte's offset in rules is
 * @at. A rule gives the place of the caller's frame. It is unknown in data, in code to
 * which no path leads, and where sp gets a computed value. Returns 0 or -ENOMEM.
 */
int op_runtime_hotspot_stack(const struct op_hotspot_machine *machine,
			     const uint8_t *code, size_t len, uint32_t at,
			     struct op_hotspot_stack_rules *to);

#endif
