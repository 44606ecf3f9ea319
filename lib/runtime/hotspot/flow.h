/* SPDX-License-Identifier: Apache-2.0 */
/* How x86-64 code goes on between an instruction and a later one: told without running it. */
#ifndef OP_RUNTIME_HOTSPOT_FLOW_H
#define OP_RUNTIME_HOTSPOT_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct op_hotspot_flow {
	bool branches; /* a conditional jump is on the way */
	bool leaves; /* a jump or a return is: what stands behind may be code of elsewhere */
	bool loops;   /* a jump leads back to the first instruction or before it */
	int32_t loop; /* where to, from the first instruction; the first such jump counts */
};

/* One instruction. */
struct op_hotspot_instruction {
	uint32_t bytes;
	bool jump; /* to `to` */
	bool conditional;
	bool leaves;
	int64_t to; /* from the instruction's first byte */
};

/* Decode the instruction at @code. Returns false where it is none, is not known or does not
 * end within @len bytes. */
bool op_runtime_hotspot_instruction(const uint8_t *code, size_t len,
				    struct op_hotspot_instruction *ret);

/* Look at the instructions that begin in the @len bytes at @code. Returns false where one
 * is not understood. */
bool op_runtime_hotspot_flow(const uint8_t *code, size_t len,
			     struct op_hotspot_flow *ret);

#endif
