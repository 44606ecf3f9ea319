/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/heights/writes.h"

#include <stdbool.h>
#include <string.h>

unsigned int op_writes_vector(uint8_t map, uint8_t opcode)
{
	static const uint8_t to_reg[] = {
		0x2c, 0x2d, 0x50, 0x78, 0x79, 0x93, 0xc5, 0xd7
	};

	switch (map) {
	case 1:
	case 5:
		if (opcode == 0x7e)
			return OP_WRITES_RM;
		return memchr(to_reg, opcode, sizeof(to_reg)) ? OP_WRITES_REG : 0;
	case 2:
	case 6:
		return opcode >= OP_WRITES_VEX_GENERAL ? OP_WRITES_REG | OP_WRITES_RM : 0;
	case 3:
		if (opcode >= 0x14 && opcode <= 0x17)
			return OP_WRITES_RM;
		return opcode >= 0xf0 ? OP_WRITES_REG : 0;
	default:
		return OP_WRITES_REG | OP_WRITES_RM;
	}
}

uint16_t op_writes_escaped(uint8_t opcode)
{
	if (opcode == 0x01 || opcode == 0x05 || opcode == 0xa2 ||
	    (opcode >= 0x30 && opcode <= 0x37))
		return OP_WRITES_AX | OP_WRITES_CX | OP_WRITES_DX | OP_WRITES_BX |
		       OP_WRITES_R11;
	return opcode == 0xb0 || opcode == 0xb1 || opcode == 0xc7
		       ? OP_WRITES_AX | OP_WRITES_DX
		       : 0;
}

/* Is it a vector instruction, among the opcodes of two bytes? */
static bool is_vector(uint8_t opcode)
{
	return (opcode >= 0x10 && opcode <= 0x17) || (opcode >= 0x28 && opcode <= 0x2f) ||
	       (opcode >= 0x50 && opcode <= 0x76) || (opcode >= 0x7c && opcode <= 0x7f) ||
	       opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6) || opcode >= 0xd0;
}

/* Of the other opcodes of two bytes. */
static unsigned int other_operands(uint8_t opcode)
{
	switch (opcode) {
	case 0x0d:
	case 0x18 ... 0x1d:
	case 0x1f: /* fetches ahead, does nothing */
	case 0xa3:
	case 0xc3:
		return 0;
	case 0x02:
	case 0x03:
	case 0x40 ... 0x4f:
	case 0xaf:
	case 0xb6 ... 0xb8:
	case 0xbc ... 0xbf:
		return OP_WRITES_REG;
	case 0x1e:
	case 0x90 ... 0x9f:
	case 0xa4:
	case 0xa5:
	case 0xab ... 0xae:
	case 0xb0:
	case 0xb1:
	case 0xb3:
	case 0xba:
	case 0xbb:
		return OP_WRITES_RM;
	default:
		return OP_WRITES_REG | OP_WRITES_RM;
	}
}

unsigned int op_writes_escaped_operands(uint8_t opcode)
{
	return is_vector(opcode) ? op_writes_vector(1, opcode) : other_operands(opcode);
}

uint16_t op_writes_plain(uint8_t opcode)
{
	if ((opcode < 0x40 && (opcode & 6) == 4) || (opcode >= 0xa0 && opcode <= 0xa3) ||
	    (opcode >= 0xe4 && opcode <= 0xe5) || (opcode >= 0xec && opcode <= 0xed) ||
	    opcode == 0xd7 || (opcode & 0xf8) == 0x90)
		return OP_WRITES_AX;
	if (opcode == 0x98 || opcode == 0x99)
		return OP_WRITES_AX | OP_WRITES_DX;
	if ((opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf))
		return OP_WRITES_AX | OP_WRITES_CX | OP_WRITES_SI | OP_WRITES_DI;
	return opcode >= 0xe0 && opcode <= 0xe2 ? OP_WRITES_CX : 0;
}

unsigned int op_writes_operands(uint8_t opcode, uint8_t reg)
{
	if (opcode < 0x38)
		return opcode & 2 ? OP_WRITES_REG : OP_WRITES_RM;
	switch (opcode) {
	case 0x38 ... 0x3b:
	case 0x84:
	case 0x85: /* compares */
	case 0x8e:
	case 0xd8 ... 0xde:
		return 0;
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0x8a:
	case 0x8b:
	case 0x8d:
		return OP_WRITES_REG;
	case 0x80 ... 0x83:
		return reg == 7 ? 0 : OP_WRITES_RM;
	case 0xf6:
	case 0xf7:
		return reg < 2 ? 0 : OP_WRITES_RM;
	case 0xfe:
	case 0xff:
		return reg < 2 ? OP_WRITES_RM : 0;
	case 0x86:
	case 0x87:
		return OP_WRITES_REG | OP_WRITES_RM;
	default:
		return OP_WRITES_RM;
	}
}
