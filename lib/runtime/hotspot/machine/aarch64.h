/* SPDX-License-Identifier: Apache-2.0 */
/* aarch64's instructions, as far as the generators of HotSpot use them around frames. */
#ifndef OP_RUNTIME_HOTSPOT_MACHINE_AARCH64_H
#define OP_RUNTIME_HOTSPOT_MACHINE_AARCH64_H

#include "runtime/hotspot/machine/machine.h"

enum {
	OP_HOTSPOT_ARM_BYTES = 4, /* of an instruction */
	OP_HOTSPOT_ARM_FP = 29,
	OP_HOTSPOT_ARM_LR = 30,
	OP_HOTSPOT_ARM_SP = 31,
};

static const uint32_t OP_HOTSPOT_ARM_PUSH = 0xa9bf7bfd;	  /* stp x29, x30, [sp, -16]! */
static const uint32_t OP_HOTSPOT_ARM_POP = 0xa8c17bfd;	  /* ldp x29, x30, [sp], 16 */
static const uint32_t OP_HOTSPOT_ARM_RECORD = 0x910003fd; /* mov x29, sp */

static inline bool op_hotspot_arm_is_call(uint32_t op)
{
	return (op & 0xfc000000) == 0x94000000 || (op & 0xfee00000) == 0xd6200000;
}

bool op_hotspot_aarch64_instruction(const uint8_t *code, size_t len,
				    struct op_hotspot_instruction *ret);

#endif
