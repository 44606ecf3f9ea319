/* SPDX-License-Identifier: Apache-2.0 */
/* The jumps of aarch64 instructions (Arm ARM, C4.1: A64 instruction set encoding). */
#include "runtime/hotspot/machine/aarch64.h"

#include "base/reader.h"

static int64_t signed_words(uint32_t field, uint32_t bits)
{
	return (int64_t)((uint64_t)field << (64 - bits)) >> (64 - bits) << 2;
}

static void jump(struct op_hotspot_instruction *ret, uint32_t field, uint32_t bits,
		 bool conditional)
{
	ret->jump = true;
	ret->conditional = conditional;
	ret->leaves = !conditional;
	ret->to = signed_words(field, bits);
}

bool op_hotspot_aarch64_instruction(const uint8_t *code, size_t len,
				    struct op_hotspot_instruction *ret)
{
	struct op_reader r = op_reader_init(code, len);
	uint32_t op = op_read_u32(&r);
	uint32_t cond = op & 15;

	*ret = (struct op_hotspot_instruction){ .bytes = OP_HOTSPOT_ARM_BYTES,
						.word = op };
	if (r.failed || !(op >> 16)) /* udf */
		return false;
	if ((op & 0xfc000000) == 0x14000000) { /* b */
		jump(ret, op & 0x3ffffff, 26, false);
	} else if ((op & 0xff000000) == 0x54000000) { /* b.cond; 14 and 15: always */
		jump(ret, op >> 5 & 0x7ffff, 19, cond < 14);
	} else if ((op & 0x7e000000) == 0x34000000) { /* cbz, cbnz */
		jump(ret, op >> 5 & 0x7ffff, 19, true);
	} else if ((op & 0x7e000000) == 0x36000000) { /* tbz, tbnz */
		jump(ret, op >> 5 & 0x3fff, 14, true);
	} else if ((op & 0xfe000000) == 0xd6000000) { /* br, blr, ret, ... */
		ret->leaves = (op >> 21 & 7) != 1;
	} else if ((op & 0xff000000) == 0xd4000000) { /* brk, hlt, dcps; not svc */
		ret->leaves = (op & 0xffe0001f) != 0xd4000001;
	}
	return true;
}
