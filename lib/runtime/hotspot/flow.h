/* SPDX-License-Identifier: Apache-2.0 */
/* A decoder of x86-64 control flow: can execution get from one instruction to a later
 * one? */
#ifndef OP_RUNTIME_HOTSPOT_FLOW_H
#define OP_RUNTIME_HOTSPOT_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct op_hotspot_flow {
	bool branches; /* there is a conditional jump */
	/* there is a jump or a return: code after it may be reached from elsewhere */
	bool leaves;
	bool loops; /* a jump leads back to the first instruction or before it */
	/* target of the first such jump, relative to the first instruction */
	int32_t loop;
};

/* One instruction. */
struct op_hotspot_instruction {
	uint32_t bytes;
	bool jump; /* it is a jump to `to` */
	bool conditional;
	bool leaves;
	int64_t to; /* relative to the instruction's first byte */
};

/* Decode the instruction at @code. Returns false if it is invalid, unknown or longer than
 * @len bytes. */
bool op_runtime_hotspot_instruction(const uint8_t *code, size_t len,
				    struct op_hotspot_instruction *ret);

/* Decode all instructions that begin in the @len bytes at @code. Returns false if one of
 * them is not understood. */
bool op_runtime_hotspot_flow(const uint8_t *code, size_t len,
			     struct op_hotspot_flow *ret);

#endif
