/* SPDX-License-Identifier: Apache-2.0 */
/* decode.h for aarch64 (Arm ARM, C4.1: A64 instruction set encoding). */
#include "code/decode/decode.h"

#include <errno.h>
#include <stdbool.h>

#include "base/reader.h"

enum {
	X0 = 0,
	XZR = 31,
	REGISTERS = 32,
};

typedef struct op_decode_value value;

struct state {
	const struct op_decode_input *in;
	struct op_reader r;
	value reg[REGISTERS];
	uint64_t other; /* target of the last conditional branch not taken; 0: none */
};

static const value unknown = { OP_DECODE_UNKNOWN, 0, 0 };

enum outcome {
	GO_ON,
	CALLED,
	RETURNED
};

static int64_t sign_extend(uint64_t v, uint32_t bits)
{
	return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

static value add_to(value v, uint64_t n)
{
	if (v.kind == OP_DECODE_CONST || v.kind == OP_DECODE_TP) {
		v.at += n;
		return v;
	}
	return n ? unknown : v;
}

static void set(struct state *s, uint32_t reg, value v)
{
	if (reg != XZR)
		s->reg[reg] = v;
}

/* Follow a load of one register; other loads make their target unknown. */
static void step_memory(struct state *s, uint32_t op)
{
	uint32_t rt = op & 31;
	uint32_t rn = op >> 5 & 31;
	uint32_t bytes = op >> 30 == 3 ? 8 : op >> 30 == 2 ? 4 : 0;
	value base = rn == XZR ? unknown : s->reg[rn]; /* 31 is sp here */

	if ((op & 0x3b000000) == 0x28000000 || (op & 0x3b000000) == 0x29000000) {
		if (op & (1u << 22)) { /* ldp */
			set(s, rt, unknown);
			set(s, op >> 10 & 31, unknown);
		}
		return;
	}
	if (!(op & (3u << 22))) /* it is a store */
		return;
	if ((op & 0x3f400000) == 0x39400000 && bytes) { /* unsigned offset */
		base = add_to(base, (uint64_t)(op >> 10 & 0xfff) * bytes);
		set(s, rt, op_decode_load(s->in, base, bytes));
	} else if ((op & 0x3f600c00) == 0x38400000 && bytes) { /* ldur */
		base = add_to(base, (uint64_t)sign_extend(op >> 12 & 0x1ff, 9));
		set(s, rt, op_decode_load(s->in, base, bytes));
	} else if ((op & 0xffe00c00) == 0xf8600800) { /* ldr xt, [xn, xm, ext #3 or #0] */
		value index = s->reg[op >> 16 & 31];
		uint32_t scale = op & (1u << 12) ? 8 : 1;

		set(s, rt,
		    base.kind == OP_DECODE_TP_MEMORY && index.kind == OP_DECODE_ARGUMENT
			    ? (value){ OP_DECODE_TP_INDEXED, scale, base.at }
			    : unknown);
	} else {
		set(s, rt, unknown);
	}
}

static void step_data(struct state *s, uint32_t op, uint64_t pc)
{
	uint32_t rd = op & 31;
	uint32_t rn = op >> 5 & 31;

	if ((op & 0x1f000000) == 0x10000000) { /* adr, adrp */
		uint64_t n = (op >> 29 & 3) | (uint64_t)(op >> 5 & 0x7ffff) << 2;
		uint64_t at = op >> 31 ? (pc & ~UINT64_C(0xfff)) +
						 ((uint64_t)sign_extend(n, 21) << 12)
				       : pc + (uint64_t)sign_extend(n, 21);

		set(s, rd, (value){ OP_DECODE_CONST, 0, at });
	} else if ((op & 0xbf800000) == 0x91000000 ||
		   (op & 0xff800000) == 0xd1000000) { /* add, sub immediate */
		uint64_t n = (uint64_t)(op >> 10 & 0xfff) << (op & (1u << 22) ? 12 : 0);

		if (op & (1u << 30))
			n = -n;
		if (rd != XZR && rn != XZR)
			s->reg[rd] = add_to(s->reg[rn], n);
	} else if ((op & 0xffe0ffe0) == 0xaa0003e0) { /* mov */
		uint32_t rm = op >> 16 & 31;

		set(s, rd, rm == XZR ? (value){ OP_DECODE_CONST, 0, 0 } : s->reg[rm]);
	} else if ((op & 0xffffffe0) == 0xd53bd040) { /* mrs xd, tpidr_el0 */
		set(s, rd, (value){ OP_DECODE_TP, 0, 0 });
	} else if ((op & 0xff000000) != 0xd5000000) { /* not hint, barrier */
		set(s, rd, unknown);
	}
}

/* Jump to offset @to; returns false if it is outside of the code read. */
static bool jump(struct state *s, uint64_t to)
{
	if (to >= s->in->len || (to & 3))
		return false;
	op_reader_seek(&s->r, to);
	return true;
}

static enum outcome step_branch(struct state *s, uint32_t op, uint64_t off)
{
	if ((op & 0xfc000000) == 0x94000000 || (op & 0xfffffc1f) == 0xd63f0000)
		return CALLED; /* bl, blr */
	if ((op & 0xfffffc1f) == 0xd61f0000)
		return CALLED; /* br: a tail call through a pointer */
	if ((op & 0xfffffc1f) == 0xd65f0000)
		return RETURNED;
	if ((op & 0xfc000000) == 0x14000000) {
		uint64_t to = off + (uint64_t)(sign_extend(op & 0x3ffffff, 26) * 4);

		return jump(s, to) ? GO_ON : CALLED;
	}
	if ((op & 0x7e000000) == 0x36000000) /* tbz, tbnz */
		s->other = off + (uint64_t)(sign_extend(op >> 5 & 0x3fff, 14) * 4);
	else if ((op & 0x7e000000) == 0x34000000 || (op & 0xff000000) == 0x54000000)
		s->other = off + (uint64_t)(sign_extend(op >> 5 & 0x7ffff, 19) * 4);
	return GO_ON;
}

static enum outcome step(struct state *s)
{
	uint64_t off = op_reader_pos(&s->r);
	uint32_t op = op_read_u32(&s->r);
	uint32_t group = op >> 25 & 15;

	if ((group & 14) == 10 && (op & 0xff000000) != 0xd5000000)
		return step_branch(s, op, off);
	if ((group & 5) == 4)
		step_memory(s, op);
	else
		step_data(s, op, s->in->addr + off);
	return GO_ON;
}

int op_decode_aarch64(const struct op_decode_input *in, struct op_decode_value *ret)
{
	struct state s = { .in = in, .r = op_reader_init(in->code, in->len) };
	uint32_t i;

	s.reg[X0].kind = OP_DECODE_ARGUMENT;
	for (i = 0; i < OP_DECODE_STEPS; i++) {
		enum outcome outcome = step(&s);

		if (s.r.failed)
			return -ENOTSUP;
		if (outcome == CALLED) {
			*ret = in->want == OP_DECODE_CALL ? s.reg[X0] : unknown;
			return 0;
		}
		if (outcome != RETURNED)
			continue;
		if (in->want == OP_DECODE_RETURN) {
			*ret = s.reg[X0];
			return 0;
		}
		if (!s.other || !jump(&s, s.other))
			return -ENOTSUP;
		s.other = 0;
	}
	return -ENOTSUP;
}
