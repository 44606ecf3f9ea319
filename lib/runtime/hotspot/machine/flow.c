/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the lengths and the jumps of x86-64 instructions, by tables of opcodes. */
#include "runtime/hotspot/machine/flow.h"

#include <string.h>

#include "base/reader.h"
#include "runtime/hotspot/machine/machine.h"

enum {
	/* prefixes */
	OPERAND_16 = 0x66,
	ADDRESS_32 = 0x67,
	VEX_3 = 0xc4,
	VEX_2 = 0xc5,
	EVEX = 0x62,
	REX = 0x40,
	/* bits of REX, and so of the first byte of VEX and EVEX, shifted and inverted */
	REX_B = 1,
	REX_X = 2,
	REX_R = 4,
	REX_W = 8,
	VEX_SHIFT = 5,
	/* maps of opcodes */
	MAP_ONE = OP_HOTSPOT_MAP_ONE,
	MAP_0F = OP_HOTSPOT_MAP_0F,
	MAP_0F38 = OP_HOTSPOT_MAP_0F38,
	MAP_0F3A = OP_HOTSPOT_MAP_0F3A,
	MAP_MASK = 7,
	BYTES_MAX = 15,
	NO_INDEX = 4,
};

/* A set of opcodes, one bit each. */
typedef uint32_t opcodes[8];

static const opcodes invalid = { 0xc0c040c0, 0x80808080, 0x00000000, 0x00000003,
				 0x04000004, 0x00000000, 0x00704000, 0x00000400 };
static const opcodes modrm = { 0x0f0f0f0f, 0x0f0f0f0f, 0x00000000, 0x00000a08,
			       0x0000fffb, 0x00000000, 0xff0f00c3, 0xc0c00000 };
static const opcodes imm8 = { 0x10101010, 0x10101010, 0x00000000, 0xffff0c00,
			      0x00000009, 0x00ff0100, 0x00002043, 0x000008ff };
static const opcodes imm32 = { 0x20202020, 0x20202020, 0x00000000, 0x00000300,
			       0x00000002, 0xff000200, 0x00000080, 0x00000300 };
/* two_*: opcodes after the byte 0x0f */
static const opcodes two_no_modrm = { 0x00004be0, 0x00ff0000, 0x00000000, 0x00800000,
				      0x0000ffff, 0x00000707, 0x0000ff00, 0x00000000 };
static const opcodes two_imm8 = { 0x00000000, 0x00000000, 0x00000000, 0x000f0000,
				  0x00000000, 0x04001010, 0x00000074, 0x00000000 };

static bool has(const opcodes set, uint8_t op)
{
	return set[op >> 5] >> (op & 31) & 1;
}

struct decoder {
	struct op_reader r;
	uint8_t op;
	uint8_t map;
	bool wide;   /* 64-bit operands */
	bool narrow; /* 16-bit operands */
	bool addr32;
	uint8_t rex; /* REX_*: numbers of registers from 8 on */
	uint8_t reg; /* reg field of the ModRM byte */
	struct op_hotspot_instruction *to;
};

static void read_prefixes(struct decoder *d)
{
	uint8_t b = op_read_u8(&d->r);

	while (!d->r.failed && (b == OPERAND_16 || b == ADDRESS_32 || b == 0xf0 ||
				b == 0xf2 || b == 0xf3 || b == 0x2e || b == 0x36 ||
				b == 0x3e || b == 0x26 || b == 0x64 || b == 0x65)) {
		d->narrow |= b == OPERAND_16;
		d->addr32 |= b == ADDRESS_32;
		b = op_read_u8(&d->r);
	}
	if ((b & 0xf0) == REX) {
		d->rex = b & 0xf;
		d->wide = b & REX_W;
		b = op_read_u8(&d->r);
	}
	d->op = b;
}

/* The byte of VEX or EVEX that has vvvv, inverted. */
static uint8_t read_third(struct decoder *d)
{
	uint8_t b = op_read_u8(&d->r);

	d->to->vex = true;
	d->to->third = (uint8_t)(~b >> 3 & 0xf);
	return b;
}

static void read_opcode(struct decoder *d)
{
	read_prefixes(d);
	if (d->op == VEX_2) {
		d->rex = (uint8_t)~read_third(d) >> VEX_SHIFT & REX_R;
		d->map = MAP_0F;
	} else if (d->op == VEX_3 || d->op == EVEX) {
		bool is_evex = d->op == EVEX;
		uint8_t b = op_read_u8(&d->r);

		d->rex = (uint8_t)~b >> VEX_SHIFT;
		d->map = b & MAP_MASK;
		d->wide = read_third(d) >> 7;
		op_read_skip(&d->r, is_evex);
	} else if (d->op == 0x0f) {
		d->map = MAP_0F;
		d->op = op_read_u8(&d->r);
		if (d->op == 0x38 || d->op == 0x3a) {
			d->map = d->op == 0x38 ? MAP_0F38 : MAP_0F3A;
			d->op = op_read_u8(&d->r);
		}
		return;
	} else {
		return;
	}
	d->op = op_read_u8(&d->r);
	d->r.failed |= d->map == MAP_ONE;
}

static void read_modrm(struct decoder *d)
{
	uint8_t b = op_read_u8(&d->r);
	uint8_t mod = b >> 6;
	uint8_t rm = b & 7;
	bool is_far = mod == 2;

	d->reg = b >> 3 & 7;
	d->to->operand = true;
	d->to->mod = mod;
	d->to->reg = d->reg | (d->rex & REX_R) << 1;
	d->to->rm = rm | (d->rex & REX_B) << 3;
	d->to->index = NO_INDEX;
	if (mod == 3)
		return;
	if (rm == 4) {
		uint8_t sib = op_read_u8(&d->r);

		rm = sib & 7;
		d->to->rm = rm | (d->rex & REX_B) << 3;
		d->to->index = (sib >> 3 & 7) | (d->rex & REX_X) << 2;
	}
	is_far |= mod == 0 && rm == 5;
	if (is_far)
		d->to->displacement = (int32_t)op_read_u32(&d->r);
	else if (mod == 1)
		d->to->displacement = (int8_t)op_read_u8(&d->r);
}

/* Decode the rest of an instruction with a one-byte opcode. */
static void read_one(struct decoder *d, struct op_hotspot_instruction *ret)
{
	uint8_t op = d->op;
	uint32_t word = d->narrow ? 2 : 4;

	d->r.failed |= has(invalid, op);
	if (has(modrm, op))
		read_modrm(d);
	if ((op >= 0x70 && op < 0x80) || (op >= 0xe0 && op < 0xe4) || op == 0xeb) {
		ret->jump = true;
		ret->conditional = op != 0xeb;
		ret->to = (int8_t)op_read_u8(&d->r);
		return;
	}
	if (op == 0xe9) {
		ret->jump = true;
		ret->to = (int32_t)op_read_u32(&d->r);
		return;
	}
	if (op == 0xe8)
		word = 4;
	if (op >= 0xa0 && op < 0xa4)
		op_read_skip(&d->r, d->addr32 ? 4 : 8);
	if (op >= 0xb8 && op < 0xc0 && d->wide)
		op_read_skip(&d->r, 4);
	if (op == 0xc2 || op == 0xc8 || op == 0xca)
		op_read_skip(&d->r, op == 0xc8 ? 3 : 2);
	if (has(imm8, op) || (op == 0xf6 && d->reg < 2))
		ret->immediate = (int8_t)op_read_u8(&d->r);
	if (has(imm32, op) || (op == 0xf7 && d->reg < 2)) {
		if (word == 4)
			ret->immediate = (int32_t)op_read_u32(&d->r);
		else
			op_read_skip(&d->r, word);
	}
	ret->leaves = op == 0xc2 || op == 0xc3 || op == 0xf4 ||
		      (op == 0xff && (d->reg == 4 || d->reg == 5));
}

bool op_runtime_hotspot_instruction(const uint8_t *code, size_t len,
				    struct op_hotspot_instruction *ret)
{
	struct decoder d = { .r = op_reader_init(code, len < BYTES_MAX ? len : BYTES_MAX),
			     .to = ret };

	memset(ret, 0, sizeof(*ret));
	read_opcode(&d);
	ret->map = d.map;
	ret->op = d.op;
	ret->rm = (d.op & 7) | (d.rex & REX_B) << 3;
	ret->wide = d.wide;
	ret->narrow = d.narrow;
	if (d.map == MAP_ONE) {
		read_one(&d, ret);
	} else if (d.map == MAP_0F && d.op >= 0x80 && d.op < 0x90) {
		ret->jump = ret->conditional = true;
		ret->to = (int32_t)op_read_u32(&d.r);
	} else if (d.map == MAP_0F) {
		if (!has(two_no_modrm, d.op))
			read_modrm(&d);
		if (has(two_imm8, d.op))
			op_read_skip(&d.r, 1);
		ret->leaves = d.op == 0x0b; /* ud2 */
	} else {
		read_modrm(&d);
		if (d.map == MAP_0F3A)
			op_read_skip(&d.r, 1);
	}
	ret->bytes = (uint32_t)op_reader_pos(&d.r);
	ret->to += ret->bytes;
	ret->leaves |= ret->jump && !ret->conditional;
	return !d.r.failed && ret->bytes;
}

bool op_runtime_hotspot_flow(const struct op_hotspot_machine *machine,
			     const uint8_t *code, size_t len, struct op_hotspot_flow *ret)
{
	struct op_hotspot_instruction in;
	size_t at;

	*ret = (struct op_hotspot_flow){ .loops = false };
	for (at = 0; at < len; at += in.bytes) {
		if (!machine->instruction(code + at, len - at, &in))
			return false;
		ret->branches |= in.conditional;
		ret->leaves |= in.leaves;
		if (in.jump && !ret->loops && in.to + (int64_t)at <= 0) {
			ret->loops = true;
			ret->loop = (int32_t)(in.to + (int64_t)at);
		}
	}
	return true;
}
