/* SPDX-License-Identifier: Apache-2.0 */
/* Which general registers x86-64 instructions write to, by their opcodes. */
#ifndef OP_CODE_UNWIND_HEIGHTS_WRITES_H
#define OP_CODE_UNWIND_HEIGHTS_WRITES_H

#include <stdint.h>

/* Registers, as bits. */
enum {
	OP_WRITES_AX = 1 << 0,
	OP_WRITES_CX = 1 << 1,
	OP_WRITES_DX = 1 << 2,
	OP_WRITES_BX = 1 << 3,
	OP_WRITES_SI = 1 << 6,
	OP_WRITES_DI = 1 << 7,
	OP_WRITES_R11 = 1 << 11,
};

/* Flags: which registers of a ModRM byte are written to. */
enum {
	OP_WRITES_REG = 1,
	OP_WRITES_RM = 2,
};

enum {
	/* from this opcode of map 0F38 on registers are general ones */
	OP_WRITES_VEX_GENERAL = 0xe0,
};

/* The registers that an opcode of one byte, or the second byte of an opcode of two, writes to
 * without naming them. */
uint16_t op_writes_plain(uint8_t opcode);
uint16_t op_writes_escaped(uint8_t opcode);

/* The same by the ModRM byte of an opcode of one byte (in some, @reg is a part of the
 * opcode), or of two bytes: OP_WRITES_REG, OP_WRITES_RM. */
unsigned int op_writes_operands(uint8_t opcode, uint8_t reg);
unsigned int op_writes_escaped_operands(uint8_t opcode);
/* The same for a vector instruction, by its map: moves out of vectors and masks,
 * conversions, and instructions that have only a vector encoding. */
unsigned int op_writes_vector(uint8_t map, uint8_t opcode);

#endif
