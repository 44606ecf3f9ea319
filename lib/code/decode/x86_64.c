/* SPDX-License-Identifier: Apache-2.0 */
/* decode.h for x86-64: the instructions that compilers put in such functions. */
#include "code/decode/decode.h"

#include <errno.h>
#include <stdbool.h>

#include "base/reader.h"

enum {
	RAX = 0,
	RDI = 7,
	REGISTERS = 16,
	REX_W = 8,
	REX_R = 4,
	REX_X = 2,
	REX_B = 1,
};

typedef struct op_decode_value value;

/* The operands of a ModRM byte. */
struct operand {
	bool is_reg;
	uint32_t reg; /* the reg field */
	uint32_t rm;  /* the register, if is_reg */
	value address;
	bool thread_self; /* %fs:0, which holds the thread pointer */
};

struct state {
	const struct op_decode_input *in;
	struct op_reader r;
	value reg[REGISTERS];
	uint8_t rex;
	bool fs;
	bool narrow; /* 0x66 */
	/* target of the last conditional jump not taken, as an offset; 0: none */
	uint64_t other;
};

static const value unknown = { OP_DECODE_UNKNOWN, 0, 0 };

static value add_to(value v, uint64_t n)
{
	if (v.kind == OP_DECODE_CONST || v.kind == OP_DECODE_TP) {
		v.at += n;
		return v;
	}
	return n ? unknown : v;
}

static uint32_t operand_bytes(const struct state *s)
{
	return s->rex & REX_W ? 8 : s->narrow ? 2 : 4;
}

/* The value base + index * scale. */
static value indexed(value base, value index, uint32_t scale)
{
	if (base.kind == OP_DECODE_TP_MEMORY && index.kind == OP_DECODE_ARGUMENT)
		return (value){ OP_DECODE_TP_INDEXED, scale, base.at };
	return unknown;
}

static void decode_sib(struct state *s, uint8_t mod, value *ret)
{
	uint8_t sib = op_read_u8(&s->r);
	uint32_t base = (sib & 7) | (s->rex & REX_B ? 8 : 0);
	uint32_t index = (sib >> 3 & 7) | (s->rex & REX_X ? 8 : 0);
	value v;

	if ((sib & 7) == 5 && mod == 0)
		v = (value){ OP_DECODE_CONST, 0, (uint64_t)(int64_t)op_read_s32(&s->r) };
	else
		v = s->reg[base];
	if (index != 4)
		v = indexed(v, s->reg[index], 1u << (sib >> 6));
	*ret = v;
}

static struct operand decode_modrm(struct state *s, uint32_t immediate_bytes)
{
	uint8_t modrm = op_read_u8(&s->r);
	uint8_t mod = modrm >> 6;
	struct operand o = { .reg = (modrm >> 3 & 7) | (s->rex & REX_R ? 8 : 0),
			     .rm = (modrm & 7) | (s->rex & REX_B ? 8 : 0) };

	if (mod == 3) {
		o.is_reg = true;
		return o;
	}
	if ((modrm & 7) == 4) {
		decode_sib(s, mod, &o.address);
	} else if ((modrm & 7) == 5 && mod == 0) {
		int32_t disp = op_read_s32(&s->r);

		o.address = (value){ OP_DECODE_CONST, 0,
				     s->in->addr + op_reader_pos(&s->r) +
					     immediate_bytes + (uint64_t)(int64_t)disp };
	} else {
		o.address = s->reg[o.rm];
	}
	if (mod == 1)
		o.address = add_to(o.address, (uint64_t)(int64_t)op_read_s8(&s->r));
	if (mod == 2)
		o.address = add_to(o.address, (uint64_t)(int64_t)op_read_s32(&s->r));
	if (s->fs) {
		o.address.kind = o.address.kind == OP_DECODE_CONST ? OP_DECODE_TP
								   : OP_DECODE_UNKNOWN;
		o.thread_self = o.address.kind == OP_DECODE_TP && !o.address.at;
	}
	return o;
}

static value load(const struct state *s, const struct operand *o, uint32_t bytes)
{
	if (o->is_reg)
		return s->reg[o->rm];
	if (o->thread_self && bytes == 8)
		return (value){ OP_DECODE_TP, 0, 0 };
	if (o->address.kind == OP_DECODE_TP_INDEXED && bytes == 8)
		return o->address;
	return op_decode_load(s->in, o->address, bytes);
}

/* Follow opcodes 81 and 83: arithmetic with an immediate. */
static void step_immediate(struct state *s, uint32_t bytes)
{
	struct operand o = decode_modrm(s, bytes);
	int64_t n = bytes == 1 ? op_read_s8(&s->r) : op_read_s32(&s->r);
	uint32_t what = o.reg & 7;

	if (!o.is_reg || what == 7) /* cmp */
		return;
	s->reg[o.rm] = what == 0   ? add_to(s->reg[o.rm], (uint64_t)n)
		       : what == 5 ? add_to(s->reg[o.rm], (uint64_t)-n)
				   : unknown;
}

static void step_move(struct state *s, uint8_t op)
{
	struct operand o;

	if (op == 0xc7) {
		int64_t n;

		o = decode_modrm(s, s->narrow ? 2 : 4);
		n = s->narrow ? op_read_s16(&s->r) : op_read_s32(&s->r);
		if (o.is_reg)
			s->reg[o.rm] = (value){ OP_DECODE_CONST, 0, (uint64_t)n };
		return;
	}
	o = decode_modrm(s, 0);
	if (op == 0x8b)
		s->reg[o.reg] = load(s, &o, operand_bytes(s));
	else if (op == 0x8d)
		s->reg[o.reg] =
			o.address.kind == OP_DECODE_TP_INDEXED ? unknown : o.address;
	else if (o.is_reg) /* 89 */
		s->reg[o.rm] = s->reg[o.reg];
}

/* Follow arithmetic between a register and a register or memory: the result
 * is unknown. */
static void step_arithmetic(struct state *s, uint8_t op)
{
	struct operand o = decode_modrm(s, 0);
	bool to_reg = op & 2;

	if (op == 0x84 || op == 0x85 || (op & 0xfc) == 0x38) /* test, cmp */
		return;
	if (o.is_reg && o.rm == o.reg && (op == 0x31 || op == 0x33))
		s->reg[o.rm] = (value){ OP_DECODE_CONST, 0, 0 };
	else if (to_reg)
		s->reg[o.reg] = unknown;
	else if (o.is_reg)
		s->reg[o.rm] = unknown;
}

/* Jump to offset @to; returns false if it is outside of the code read. */
static bool jump(struct state *s, uint64_t to)
{
	if (to >= s->in->len)
		return false;
	op_reader_seek(&s->r, to);
	return true;
}

/* Follow a two-byte opcode. Returns 0 or -ENOTSUP. */
static int step_0f(struct state *s)
{
	uint8_t op = op_read_u8(&s->r);
	struct operand o;

	if ((op & 0xf0) == 0x80) {
		int64_t rel = op_read_s32(&s->r);

		s->other = op_reader_pos(&s->r) + (uint64_t)rel;
		return 0;
	}
	switch (op) {
	case 0x1e: /* endbr64 */
	case 0x1f: /* nop */
		(void)decode_modrm(s, 0);
		return 0;
	case 0xb6:
	case 0xb7:
	case 0xbe:
	case 0xbf:
	case 0xaf:
		o = decode_modrm(s, 0);
		s->reg[o.reg] = unknown;
		return 0;
	default:
		return -ENOTSUP;
	}
}

enum outcome {
	GO_ON,
	CALLED,
	RETURNED,
	NOT_UNDERSTOOD
};

static enum outcome step_control(struct state *s, uint8_t op)
{
	int64_t rel;

	switch (op) {
	case 0xe8:
		return CALLED;
	case 0xc3:
		return RETURNED;
	case 0xe9:
	case 0xeb:
		rel = op == 0xeb ? op_read_s8(&s->r) : op_read_s32(&s->r);
		return jump(s, op_reader_pos(&s->r) + (uint64_t)rel) ? GO_ON : CALLED;
	case 0xff: {
		uint32_t what = decode_modrm(s, 0).reg & 7;

		return what >= 2 && what <= 5 ? CALLED
		       : what == 6	      ? GO_ON
					      : NOT_UNDERSTOOD;
	}
	default: /* 70-7f */
		rel = op_read_s8(&s->r);
		s->other = op_reader_pos(&s->r) + (uint64_t)rel;
		return GO_ON;
	}
}

static uint8_t read_prefixes(struct state *s)
{
	uint8_t op;

	s->fs = s->narrow = false;
	s->rex = 0;
	for (;;) {
		op = op_read_u8(&s->r);
		if (op == 0x64)
			s->fs = true;
		else if (op == 0x66)
			s->narrow = true;
		else if (op != 0xf2 && op != 0xf3 && op != 0x2e && op != 0x3e)
			break;
		if (s->r.failed)
			break;
	}
	if ((op & 0xf0) == 0x40) {
		s->rex = op;
		op = op_read_u8(&s->r);
	}
	return op;
}

static enum outcome step(struct state *s)
{
	uint8_t op = read_prefixes(s);
	uint32_t low = (op & 7) | (s->rex & REX_B ? 8 : 0);

	if (op >= 0x50 && op <= 0x57) { /* push */
	} else if (op >= 0x58 && op <= 0x5f) {
		s->reg[low] = unknown;
	} else if ((op & 0xf0) == 0x70 || op == 0xe8 || op == 0xe9 || op == 0xeb ||
		   op == 0xc3 || op == 0xff) {
		return step_control(s, op);
	} else if (op == 0x89 || op == 0x8b || op == 0x8d || op == 0xc7) {
		step_move(s, op);
	} else if (op == 0x63) { /* movslq */
		struct operand o = decode_modrm(s, 0);

		s->reg[o.reg] = o.is_reg ? s->reg[o.rm] : unknown;
	} else if (op >= 0xb8 && op <= 0xbf) {
		uint64_t n = s->rex & REX_W ? op_read_u64(&s->r) : op_read_u32(&s->r);

		s->reg[low] = (value){ OP_DECODE_CONST, 0, n };
	} else if (op == 0x81) {
		step_immediate(s, 4);
	} else if (op == 0x83 || op == 0x80) {
		step_immediate(s, 1);
	} else if ((op < 0x40 && (op & 7) < 4) || op == 0x84 || op == 0x85) {
		step_arithmetic(s, op);
	} else if (op == 0x0f) {
		return step_0f(s) < 0 ? NOT_UNDERSTOOD : GO_ON;
	} else if (op != 0x90) {
		return NOT_UNDERSTOOD;
	}
	return GO_ON;
}

int op_decode_x86_64(const struct op_decode_input *in, struct op_decode_value *ret)
{
	struct state s = { .in = in, .r = op_reader_init(in->code, in->len) };
	uint32_t i;

	s.reg[RDI].kind = OP_DECODE_ARGUMENT;
	for (i = 0; i < OP_DECODE_STEPS; i++) {
		enum outcome outcome = step(&s);

		if (s.r.failed || outcome == NOT_UNDERSTOOD)
			return -ENOTSUP;
		if (outcome == CALLED) {
			*ret = in->want == OP_DECODE_CALL ? s.reg[RDI] : unknown;
			return 0;
		}
		if (outcome != RETURNED)
			continue;
		if (in->want == OP_DECODE_RETURN) {
			*ret = s.reg[RAX];
			return 0;
		}
		/* The path ended before a call: try the other side of the last branch. */
		if (!s.other || !jump(&s, s.other))
			return -ENOTSUP;
		s.other = 0;
	}
	return -ENOTSUP;
}
