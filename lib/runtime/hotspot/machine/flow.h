/* SPDX-License-Identifier: Apache-2.0 */
/* A decoder of control flow: can execution get from one instruction to a later one? */
#ifndef OP_RUNTIME_HOTSPOT_MACHINE_FLOW_H
#define OP_RUNTIME_HOTSPOT_MACHINE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct op_hotspot_machine;

struct op_hotspot_flow {
	bool branches; /* there is a conditional jump */
	/* there is a jump or a return: code after it may be reached from elsewhere */
	bool leaves;
	bool loops; /* a jump leads back to the first instruction or before it */
	/* target of the first such jump, relative to the first instruction */
	int32_t loop;
};

enum op_hotspot_map {
	OP_HOTSPOT_MAP_ONE = 0, /* opcodes of one byte */
	OP_HOTSPOT_MAP_0F = 1,
	OP_HOTSPOT_MAP_0F38 = 2,
	OP_HOTSPOT_MAP_0F3A = 3,
};

/* One instruction. */
struct op_hotspot_instruction {
	uint32_t bytes;
	bool jump; /* it is a jump to `to` */
	bool conditional;
	bool leaves;
	int64_t to; /* relative to the instruction's first byte */

	uint32_t word; /* aarch64: the instruction; x86-64: all that follows */
	uint8_t map;   /* enum op_hotspot_map */
	uint8_t op;
	bool vex;     /* VEX or EVEX */
	bool wide;    /* 64-bit operands */
	bool narrow;  /* 16-bit operands */
	bool operand; /* it has a ModRM byte: */
	uint8_t mod;  /* 3: rm is a register */
	/* numbers of registers, 0 to 15 */
	uint8_t reg;
	uint8_t rm;    /* of memory: the base */
	uint8_t index; /* of memory; 4: none */
	uint8_t third; /* VEX.vvvv */
	int32_t displacement;
	int32_t immediate;
};

/* Decode the x86-64 instruction at @code. Returns false if it is invalid, unknown or longer than
 * @len bytes. */
bool op_runtime_hotspot_instruction(const uint8_t *code, size_t len,
				    struct op_hotspot_instruction *ret);

/* Decode all instructions that begin in the @len bytes at @code. Returns false if one of
 * them is not understood. */
bool op_runtime_hotspot_flow(const struct op_hotspot_machine *machine,
			     const uint8_t *code, size_t len,
			     struct op_hotspot_flow *ret);

#endif
