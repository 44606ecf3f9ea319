/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/heights/instruction.h"

#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "base/reader.h"
#include "code/unwind/heights/writes.h"

enum {
	REX_W = 8,
	REX_R = 4,
	REX_X = 2,
	REX_B = 1,
	ESCAPE = 0x0f,
	MODRM_REG = 3, /* mod: a register, no memory */
	MOFFS_BYTES = 8,
};

/* Flags: what follows an opcode. */
enum {
	NONE = 0,
	M = 1,	   /* a ModRM byte and what it requires */
	I8 = 2,	   /* an immediate of 1 byte */
	IZ = 4,	   /* an immediate of 4 bytes; of 2 with the prefix 0x66 */
	I16 = 8,   /* an immediate of 2 bytes */
	BAD = 128, /* no instruction in 64-bit mode */
};

/* The eight opcodes of an arithmetic instruction from @at on: four with a ModRM byte, two
 * with an immediate, and two that 64-bit mode does not have. */
#define ARITHMETIC(at)                                                                   \
	[(at)...(at) + 3] = M, [(at) + 4] = I8, [(at) + 5] = IZ,                         \
		       [(at) + 6 ...(at) + 7] = BAD

/* What follows the opcodes of one byte; nothing follows those that are left out.
 * Prefixes, escapes and VEX are handled before. */
static const uint8_t one_byte[256] = {
	ARITHMETIC(0x00),
	ARITHMETIC(0x08),
	ARITHMETIC(0x10),
	ARITHMETIC(0x18),
	ARITHMETIC(0x20),
	ARITHMETIC(0x28),
	ARITHMETIC(0x30),
	ARITHMETIC(0x38),
	[0x60 ... 0x62] = BAD,
	[0x63] = M,
	[0x64 ... 0x67] = BAD,
	[0x68] = IZ,
	[0x69] = M | IZ,
	[0x6a] = I8,
	[0x6b] = M | I8,
	[0x70 ... 0x7f] = I8,
	[0x80] = M | I8,
	[0x81] = M | IZ,
	[0x82] = BAD,
	[0x83] = M | I8,
	[0x84 ... 0x8f] = M,
	[0x9a] = BAD,
	[0xa8] = I8,
	[0xa9] = IZ,
	[0xb0 ... 0xb7] = I8,
	[0xb8 ... 0xbf] = IZ,
	[0xc0 ... 0xc1] = M | I8,
	[0xc2] = I16,
	[0xc4 ... 0xc5] = BAD,
	[0xc6] = M | I8,
	[0xc7] = M | IZ,
	[0xc8] = I16 | I8,
	[0xca] = I16,
	[0xcd] = I8,
	[0xce] = BAD,
	[0xd0 ... 0xd3] = M,
	[0xd4 ... 0xd6] = BAD,
	[0xd8 ... 0xdf] = M,
	[0xe0 ... 0xe7] = I8,
	[0xe8 ... 0xe9] = IZ,
	[0xea] = BAD,
	[0xeb] = I8,
	[0xf0] = BAD,
	[0xf2 ... 0xf3] = BAD,
	[0xf6 ... 0xf7] = M,
	[0xfe ... 0xff] = M,
};

/* The current instruction. */
struct insn {
	struct op_reader r;
	struct op_insn *out;
	uint8_t rex;
	bool narrow; /* 0x66 */
	uint8_t mod;
	uint8_t reg; /* with REX.R */
	uint8_t rm;  /* with REX.B */
	bool on_sp;  /* the operand is memory at sp + disp and nothing else */
	bool on_fp;  /* the same at fp + disp */
	int32_t disp;
};

static void read_modrm(struct insn *s)
{
	uint8_t modrm = op_read_u8(&s->r);
	uint8_t sib = 0;
	uint8_t base;

	s->mod = modrm >> 6;
	s->reg = (modrm >> 3 & 7) | (s->rex & REX_R ? 8 : 0);
	s->rm = (modrm & 7) | (s->rex & REX_B ? 8 : 0);
	if (s->mod == MODRM_REG)
		return;
	base = modrm & 7;
	if (base == 4) {
		sib = op_read_u8(&s->r);
		base = sib & 7;
		s->on_sp = sib == 0x24 && !(s->rex & (REX_X | REX_B));
	} else if (base == 5 && !s->mod) {
		s->disp = op_read_s32(&s->r); /* relative to the pc */
		return;
	}
	s->on_fp = s->rm == OP_INSN_FP;
	if (s->mod == 1)
		s->disp = op_read_s8(&s->r);
	else if (s->mod == 2 || (base == 5 && !s->mod))
		s->disp = op_read_s32(&s->r);
}

/* Note which registers of the ModRM byte are written to (OP_WRITES_*). */
static void add_written(struct insn *s, unsigned int writes)
{
	if (writes & OP_WRITES_REG)
		s->out->regs |= (uint16_t)(1u << s->reg);
	if (writes & OP_WRITES_RM && s->mod == MODRM_REG)
		s->out->regs |= (uint16_t)(1u << s->rm);
}

static int32_t read_immediates(struct insn *s, uint8_t what)
{
	int32_t value = 0;

	if (what & I16)
		value = op_read_s16(&s->r);
	if (what & I8)
		value = op_read_s8(&s->r);
	if (what & IZ)
		value = s->narrow && !(s->rex & REX_W) ? op_read_s16(&s->r)
						       : op_read_s32(&s->r);
	return value;
}

static void set(struct insn *s, enum op_insn_kind kind, uint8_t reg, int32_t value)
{
	s->out->kind = (uint8_t)kind;
	s->out->reg = reg;
	s->out->value = value;
}

/* ---- the prefixes of vector instructions ---- */

/* Does this opcode of map 0F, VEX or EVEX have an immediate? */
static bool has_immediate(uint8_t map, uint8_t opcode)
{
	if (map == 3)
		return true;
	if (map != 1)
		return false;
	return (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
	       (opcode >= 0xc4 && opcode <= 0xc6);
}

static void read_vector_modrm(struct insn *s, uint8_t map, uint8_t opcode)
{
	read_modrm(s);
	add_written(s, op_writes_vector(map, opcode));
}

/* @map and @inverted come from the prefix; @inverted has R, X and B, inverted, in its top
 * bits. Returns the opcode. */
static uint8_t read_vector(struct insn *s, uint8_t inverted, uint8_t map, bool evex)
{
	uint8_t opcode = op_read_u8(&s->r);

	s->rex = (inverted & 0x80 ? 0 : REX_R) | (inverted & 0x20 ? 0 : REX_B) |
		 (inverted & 0x40 ? 0 : REX_X);
	if (!evex && map == 1 && opcode == 0x77)
		return opcode; /* vzeroupper */
	read_vector_modrm(s, map, opcode);
	if (map == 10) /* XOP */
		op_read_skip(&s->r, 4);
	else if (map == 8 || has_immediate(map, opcode))
		op_read_skip(&s->r, 1);
	return opcode;
}

static bool read_vex(struct insn *s, uint8_t prefix)
{
	uint8_t first = op_read_u8(&s->r);
	uint8_t second;
	uint8_t opcode;

	if (prefix == 0xc5) {
		(void)read_vector(s, first | 0x60, 1, false);
		return true;
	}
	second = op_read_u8(&s->r);
	if (prefix == 0x62)
		op_read_skip(&s->r, 1);
	opcode = read_vector(s, first, first & (prefix == 0x62 ? 7 : 31), prefix == 0x62);
	/* the registers of mulx and blsr are in the prefix */
	if (prefix != 0x62 && (first & 31) == 2 && opcode >= OP_WRITES_VEX_GENERAL)
		s->out->regs |= (uint16_t)(1u << (~second >> 3 & 15));
	return true;
}

/* ---- opcodes of two and three bytes ---- */

static bool is_bare(uint8_t opcode)
{
	return (opcode >= 0x05 && opcode <= 0x09) || opcode == 0x0b || opcode == 0x0e ||
	       (opcode >= 0x30 && opcode <= 0x37) || opcode == 0x77 ||
	       (opcode >= 0xa0 && opcode <= 0xa2) || (opcode >= 0xa8 && opcode <= 0xaa) ||
	       (opcode >= 0xc8 && opcode <= 0xcf);
}

static bool read_escaped(struct insn *s)
{
	uint8_t opcode = op_read_u8(&s->r);

	s->out->regs |= op_writes_escaped(opcode);
	if (opcode >= 0x80 && opcode <= 0x8f) {
		set(s, OP_INSN_JUMP_IF, OP_INSN_NO_REG, op_read_s32(&s->r));
		return true;
	}
	if (opcode == 0x38 || opcode == 0x3a) {
		read_vector_modrm(s, opcode == 0x3a ? 3 : 2, op_read_u8(&s->r));
		op_read_skip(&s->r, opcode == 0x3a ? 1 : 0);
		return true;
	}
	if (opcode == 0x0b)
		set(s, OP_INSN_TRAP, OP_INSN_NO_REG, 0);
	else if (opcode == 0xa0 || opcode == 0xa8)
		set(s, OP_INSN_PUSH, OP_INSN_NO_REG, 0);
	else if (opcode == 0xa1 || opcode == 0xa9)
		set(s, OP_INSN_POP, OP_INSN_NO_REG, 0);
	if (opcode >= 0xc8 && opcode <= 0xcf)
		s->out->regs |=
			(uint16_t)(1u << ((opcode & 7) | (s->rex & REX_B ? 8 : 0)));
	if (is_bare(opcode))
		return true;
	read_modrm(s);
	add_written(s, op_writes_escaped_operands(opcode));
	if (opcode == 0x1f)
		set(s, OP_INSN_PAD, OP_INSN_NO_REG, 0);
	if (has_immediate(1, opcode) || opcode == 0xa4 || opcode == 0xac ||
	    opcode == 0xba || opcode == 0x0f)
		op_read_skip(&s->r, 1);
	return true;
}

/* ---- opcodes of one byte ---- */

/* add, sub and and of an immediate, if rm is sp */
static void read_group_1(struct insn *s, int32_t value)
{
	if (s->mod != MODRM_REG || s->rm != OP_INSN_SP)
		return;
	switch (s->rex & REX_W ? s->reg & 7 : 8) {
	case 0:
		set(s, OP_INSN_ADD_SP, OP_INSN_NO_REG, value);
		break;
	case 4:
		set(s, OP_INSN_AND_SP, OP_INSN_NO_REG, value);
		break;
	case 5:
		/* no frame is so large that the difference would matter */
		set(s, OP_INSN_ADD_SP, OP_INSN_NO_REG, -OP_MAX(value, -INT32_MAX));
		break;
	case 7: /* compares */
		break;
	default:
		set(s, OP_INSN_LOSE_SP, OP_INSN_NO_REG, 0);
	}
}

static void read_group_5(struct insn *s)
{
	switch (s->reg & 7) {
	case 2:
	case 3:
		set(s, OP_INSN_CALL_FAR, OP_INSN_NO_REG, 0);
		break;
	case 4:
	case 5:
		set(s, OP_INSN_JUMP_FAR, OP_INSN_NO_REG, 0);
		break;
	case 6:
		set(s, OP_INSN_PUSH, OP_INSN_NO_REG, 0);
		break;
	}
}

/* mov, in both directions */
static void read_mov(struct insn *s, bool to_rm)
{
	uint8_t from = to_rm ? s->reg : s->rm;
	uint8_t to = to_rm ? s->rm : s->reg;

	if (!(s->rex & REX_W))
		return;
	if (s->mod == MODRM_REG && to == OP_INSN_SP)
		set(s, OP_INSN_SET_SP, from, 0);
	else if (s->mod == MODRM_REG && from == OP_INSN_SP)
		set(s, OP_INSN_COPY_SP, to, 0);
	else if (s->mod != MODRM_REG && s->on_sp && to_rm)
		set(s, OP_INSN_STORE, from, s->disp);
	else if (s->mod != MODRM_REG && !to_rm && to == OP_INSN_SP)
		set(s, s->on_sp ? OP_INSN_LOAD_SP : OP_INSN_LOSE_SP, OP_INSN_NO_REG,
		    s->disp);
	else if (s->on_sp && !to_rm)
		set(s, OP_INSN_LOAD, to, s->disp);
	else if (s->on_fp && !to_rm)
		set(s, OP_INSN_LOAD_FP, to, s->disp);
}

static void read_lea(struct insn *s, uint8_t sib)
{
	bool simple = s->mod != MODRM_REG && (s->mod || (s->rm & 7) != 5) && !sib;

	if (!(s->rex & REX_W))
		return;
	if (s->reg == OP_INSN_SP && s->on_sp)
		set(s, OP_INSN_ADD_SP, OP_INSN_NO_REG, s->disp);
	else if (s->reg == OP_INSN_SP && simple)
		set(s, OP_INSN_SET_SP, s->rm, s->disp);
	else if (s->reg == OP_INSN_SP)
		set(s, OP_INSN_LOSE_SP, OP_INSN_NO_REG, 0);
	else if (s->on_sp)
		set(s, OP_INSN_COPY_SP, s->reg, s->disp);
}

/* Arithmetic with sp and exchanges of it lose sp. */
static void read_arithmetic(struct insn *s, uint8_t opcode)
{
	bool to_rm = !(opcode & 2);

	if ((opcode & 0xf8) == 0x38 || opcode == 0x84 || opcode == 0x85)
		return; /* compares */
	if ((to_rm && s->mod == MODRM_REG && s->rm == OP_INSN_SP) ||
	    (!to_rm && s->reg == OP_INSN_SP) ||
	    ((opcode == 0x86 || opcode == 0x87) && s->reg == OP_INSN_SP))
		set(s, OP_INSN_LOSE_SP, OP_INSN_NO_REG, 0);
}

/* Is it an exclusive or of fp with itself? */
static bool clears_fp(const struct insn *s, uint8_t opcode)
{
	return (opcode == 0x31 || opcode == 0x33) && s->mod == MODRM_REG &&
	       s->rm == OP_INSN_FP && s->reg == OP_INSN_FP;
}

/* An opcode with a ModRM byte, which was read, and perhaps an immediate. */
static void read_operands(struct insn *s, uint8_t opcode, int32_t value)
{
	if (clears_fp(s, opcode))
		set(s, OP_INSN_CLEAR_FP, OP_INSN_NO_REG, 0);
	else if (opcode == 0x81 || opcode == 0x83)
		read_group_1(s, value);
	else if (opcode == 0x89 || opcode == 0x8b)
		read_mov(s, opcode == 0x89);
	else if (opcode == 0x8d)
		read_lea(s, (s->rm & 7) == 4);
	else if (opcode == 0x8f)
		set(s, OP_INSN_POP, OP_INSN_NO_REG, 0);
	else if (opcode == 0xff)
		read_group_5(s);
	else if (s->rex & REX_W && (opcode < 0x40 || (opcode >= 0x84 && opcode <= 0x87)))
		read_arithmetic(s, opcode);
	else if ((opcode == 0xf6 || opcode == 0xf7) && (s->reg & 7) < 2)
		(void)read_immediates(s, opcode == 0xf6 ? I8 : IZ);
	if (opcode == 0xf6 || opcode == 0xf7)
		s->out->regs |= OP_WRITES_AX | OP_WRITES_DX;
}

/* An opcode without a ModRM byte. */
static void read_plain(struct insn *s, uint8_t opcode, int32_t value)
{
	uint8_t reg = (opcode & 7) | (s->rex & REX_B ? 8 : 0);

	s->out->regs |= op_writes_plain(opcode);
	if ((opcode & 0xf8) == 0x50 || (opcode & 0xf8) == 0x58)
		set(s, opcode < 0x58 ? OP_INSN_PUSH : OP_INSN_POP, reg, 0);
	if ((opcode & 0xf8) == 0x58 || (opcode & 0xf0) == 0xb0 || (opcode & 0xf8) == 0x90)
		s->out->regs |= (uint16_t)(1u << reg);
	if ((opcode & 0xf0) == 0x70 || (opcode >= 0xe0 && opcode <= 0xe3))
		set(s, OP_INSN_JUMP_IF, OP_INSN_NO_REG, value);
	switch (opcode) {
	case 0x68:
	case 0x6a:
	case 0x9c:
		set(s, OP_INSN_PUSH, OP_INSN_NO_REG, 0);
		break;
	case 0x90:
		set(s, s->rex & REX_B ? OP_INSN_OTHER : OP_INSN_PAD, OP_INSN_NO_REG, 0);
		break;
	case 0x94: /* xchg of sp with rax */
		set(s, reg == OP_INSN_SP ? OP_INSN_LOSE_SP : OP_INSN_OTHER,
		    OP_INSN_NO_REG, 0);
		break;
	case 0x9d:
		set(s, OP_INSN_POP, OP_INSN_NO_REG, 0);
		break;
	case 0xc2:
	case 0xc3:
	case 0xca:
	case 0xcb:
	case 0xcf:
		set(s, OP_INSN_RETURN, OP_INSN_NO_REG, 0);
		break;
	case 0xc8:
		set(s, OP_INSN_LOSE_SP, OP_INSN_NO_REG, 0);
		break;
	case 0xc9:
		set(s, OP_INSN_LEAVE, OP_INSN_NO_REG, 0);
		break;
	case 0xcc:
	case 0xf4:
		set(s, OP_INSN_TRAP, OP_INSN_NO_REG, 0);
		break;
	case 0xe8:
		set(s, OP_INSN_CALL, OP_INSN_NO_REG, value);
		break;
	case 0xe9:
	case 0xeb:
		set(s, OP_INSN_JUMP, OP_INSN_NO_REG, value);
		break;
	}
}

static bool read_opcode(struct insn *s, uint8_t opcode)
{
	uint8_t what = one_byte[opcode];
	int32_t value;

	if (what & BAD)
		return false;
	if (opcode == 0xe8 || opcode == 0xe9)
		/* on Intel's CPUs the distance has 4 bytes all the same */
		s->narrow = false;
	if (what & M) {
		read_modrm(s);
		add_written(s, op_writes_operands(opcode, s->reg & 7));
	}
	if ((opcode & 0xf8) == 0xb8 && s->rex & REX_W)
		op_read_skip(&s->r, 4); /* the upper half of an immediate of 8 bytes */
	if ((opcode & 0xfc) == 0xa0)
		op_read_skip(&s->r, MOFFS_BYTES);
	value = read_immediates(s, what);
	if (what & M)
		read_operands(s, opcode, value);
	else
		read_plain(s, opcode, value);
	return true;
}

/* Skip the prefixes and return the opcode. A REX prefix counts only right before the
 * opcode. */
static uint8_t read_prefixes(struct insn *s)
{
	for (;;) {
		uint8_t byte = op_read_u8(&s->r);

		if ((byte & 0xf0) == 0x40) {
			s->rex = byte & 15;
			continue;
		}
		switch (byte) {
		case 0x66:
			s->narrow = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
		case 0x67:
		case 0xf0:
		case 0xf2:
		case 0xf3:
			break;
		default:
			return byte;
		}
		s->rex = 0;
		if (s->r.failed)
			return byte;
	}
}

size_t op_insn_read(const uint8_t *code, size_t len, struct op_insn *ret)
{
	struct insn s = {
		.r = op_reader_init(code,
				    len < OP_INSN_BYTES_MAX ? len : OP_INSN_BYTES_MAX),
		.out = ret,
	};
	uint8_t opcode;
	bool good;

	*ret = (struct op_insn){ .reg = OP_INSN_NO_REG };
	opcode = read_prefixes(&s);
	if (opcode == ESCAPE)
		good = read_escaped(&s);
	else if (opcode == 0xc4 || opcode == 0xc5 || opcode == 0x62)
		good = read_vex(&s, opcode);
	else if (opcode == 0x8f && op_reader_left(&s.r) && (s.r.pos[0] & 31) >= 8)
		good = read_vex(&s, opcode);
	else
		good = read_opcode(&s, opcode);
	if (!good || s.r.failed)
		return 0;
	ret->len = (uint8_t)op_reader_pos(&s.r);
	return ret->len;
}
