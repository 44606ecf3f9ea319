/* SPDX-License-Identifier: Apache-2.0 */
/* x86-64: how instructions move the stack pointer and the frame pointer (stack.h). */
#include "runtime/hotspot/machine/machine.h"

#include <elf.h>
#include <string.h>

enum {
	RSP = 4, /* numbers in machine code */
	RBP = 5,
	ENTRY = 8, /* the return address is at rsp */
	PROLOGUE_ALIGNED = 16,
};

/* Does @in write the general register @number? */
static bool writes_one(const struct op_hotspot_instruction *in, uint8_t number)
{
	bool is_reg = in->operand && in->reg == number;
	bool is_rm = in->operand && in->mod == 3 && in->rm == number;
	uint8_t op = in->op;

	if (!in->operand)
		return ((op >= 0xb8 && op < 0xc0) || (op > 0x90 && op < 0x98)) &&
		       in->rm == number;
	if (op < 0x40) /* add, or, ..., but not cmp */
		return op < 0x38 && (op & 4 ? false : op & 2 ? is_reg : is_rm);
	switch (op) {
	case 0x84: /* test */
	case 0x85:
		return false;
	case 0x86: /* xchg */
	case 0x87:
		return is_reg || is_rm;
	case 0x63: /* movsxd, imul, mov, lea */
	case 0x69:
	case 0x6b:
	case 0x8a:
	case 0x8b:
	case 0x8d:
		return is_reg;
	case 0x80: /* add, or, ..., but not cmp, with a constant */
	case 0x81:
	case 0x83:
		return is_rm && (in->reg & 7) != 7;
	case 0xf6: /* test, not, neg, mul, ... */
	case 0xf7:
		return is_rm && (in->reg & 7) > 1;
	default: /* a shift, inc, dec, mov to rm; but nothing of x87's */
		return is_rm && !(op >= 0xd8 && op < 0xe0);
	}
}

/* The same for an opcode after 0x0f. Most of them work on vectors. */
static bool writes_two(const struct op_hotspot_instruction *in, uint8_t number)
{
	bool is_reg = in->operand && in->reg == number;
	bool is_rm = in->operand && in->mod == 3 && in->rm == number;
	uint8_t op = in->op;

	if (!in->operand)
		return op >= 0xc8 && op < 0xd0 && in->rm == number; /* bswap */
	if (op == 0x2c || op == 0x2d || op == 0x50 || op == 0xc5 || op == 0xd7)
		return is_reg; /* of a vector */
	if (op == 0x7e || (op >= 0x90 && op < 0xa0) || op == 0xab || op == 0xb3 ||
	    op == 0xbb || op == 0xc7)
		return is_rm; /* of a vector, setcc, bts, ... */
	if (op == 0xba)
		return is_rm && (in->reg & 7) > 4;
	if (op == 0xa3 || (op >= 0x0d && op < 0x20)) /* bt, prefetch, nop */
		return false;
	if (in->vex)
		return (op == 0x92 || op == 0x93) && is_reg;
	if ((op >= 0x10 && op < 0x18) || (op >= 0x28 && op < 0x30) ||
	    (op >= 0x51 && op < 0x80) || op == 0xc2 || op == 0xc4 || op == 0xc6 ||
	    op >= 0xd0)
		return false;
	return is_reg || is_rm;
}

/* The same for any instruction that follow() does not know. */
static bool writes(const struct op_hotspot_instruction *in, uint8_t number)
{
	bool is_reg = in->operand && in->reg == number;
	bool is_rm = in->operand && in->mod == 3 && in->rm == number;

	switch (in->map) {
	case OP_HOTSPOT_MAP_ONE:
		return writes_one(in, number);
	case OP_HOTSPOT_MAP_0F:
		return writes_two(in, number);
	case OP_HOTSPOT_MAP_0F38:
		return in->op >= 0xf0 && in->op < 0xf8 &&
		       (is_reg || (in->vex && in->third == number));
	default: /* pextr; rorx */
		return (in->op >= 0x14 && in->op < 0x18 && is_rm) ||
		       (in->op == 0xf0 && is_reg);
	}
}

static void move_rsp(struct op_hotspot_stack *s, int64_t down)
{
	s->slot = s->slot == OP_HOTSPOT_UNKNOWN ? OP_HOTSPOT_UNKNOWN
						: op_hotspot_distance(s->slot + down);
	s->depth = s->depth == OP_HOTSPOT_UNKNOWN ? OP_HOTSPOT_UNKNOWN
						  : op_hotspot_distance(s->depth + down);
}

static void push(struct op_hotspot_stack *s, bool is_rbp)
{
	move_rsp(s, 8);
	if (is_rbp && s->base == OP_HOTSPOT_SAME && s->depth != OP_HOTSPOT_UNKNOWN)
		s->saved = s->depth;
}

/* rbp is loaded from @at. */
static void restore(struct op_hotspot_stack *s, int16_t at)
{
	s->base = at != OP_HOTSPOT_UNKNOWN && at == s->saved ? OP_HOTSPOT_SAME
							     : OP_HOTSPOT_UNKNOWN;
}

/* rsp or rbp gets the value of the other one plus @off. */
static void copy(struct op_hotspot_stack *s, bool to_rsp, int64_t off)
{
	int16_t from = to_rsp ? s->base : s->depth;
	int16_t at = from == OP_HOTSPOT_UNKNOWN || from == OP_HOTSPOT_SAME
			     ? OP_HOTSPOT_UNKNOWN
			     : op_hotspot_distance(from - off);

	if (to_rsp)
		s->depth = at;
	else
		s->base = at;
}

static bool is_memory(const struct op_hotspot_instruction *in, uint8_t base)
{
	return in->mod != 3 && in->rm == base && (in->mod || base == RSP) &&
	       in->index == RSP;
}

/* mov from one register to another. */
static bool follow_move(const struct op_hotspot_instruction *in,
			struct op_hotspot_stack *s)
{
	uint8_t to = in->op == 0x89 ? in->rm : in->reg;
	uint8_t from = in->op == 0x89 ? in->reg : in->rm;

	if ((to == RSP && from == RBP) || (to == RBP && from == RSP)) {
		copy(s, to == RSP, 0);
	} else if (from == RSP) {
		s->copy = to;
		s->copied = s->depth;
	} else if (to == RSP && from == s->copy) {
		s->depth = s->copied;
	} else {
		return false;
	}
	return true;
}

/* mov, lea and others with rsp or rbp as an operand. Returns whether @in is one. */
static bool follow_operand(const struct op_hotspot_instruction *in,
			   struct op_hotspot_stack *s)
{
	bool is_sp = is_memory(in, RSP) && s->depth != OP_HOTSPOT_UNKNOWN;
	int16_t slot = is_sp ? op_hotspot_distance(s->depth - (int64_t)in->displacement)
			     : OP_HOTSPOT_UNKNOWN;

	if (!in->wide)
		return false;
	if ((in->op == 0x81 || in->op == 0x83) && in->mod == 3 && in->rm == RSP &&
	    ((in->reg & 7) == 5 || (in->reg & 7) == 0)) {
		move_rsp(s, in->reg & 7 ? in->immediate : -(int64_t)in->immediate);
		return true;
	}
	if (in->op == 0x8d && (in->reg == RSP || in->reg == RBP)) {
		if (is_memory(in, RSP) && in->reg == RSP)
			move_rsp(s, -(int64_t)in->displacement);
		else if (is_memory(in, in->reg == RSP ? RBP : RSP))
			copy(s, in->reg == RSP, in->displacement);
		else
			return false;
		return true;
	}
	if ((in->op == 0x89 || in->op == 0x8b) && in->mod == 3)
		return follow_move(in, s);
	if (in->op == 0x89 && in->reg == s->copy && is_memory(in, RSP) &&
	    s->depth == OP_HOTSPOT_UNKNOWN && s->copied != OP_HOTSPOT_UNKNOWN) {
		s->kept = s->copied;
		s->slot = op_hotspot_distance(in->displacement);
		return true;
	}
	if (in->op == 0x8b && in->reg == RSP && is_memory(in, RSP)) {
		s->depth = in->displacement == s->slot ? s->kept : OP_HOTSPOT_UNKNOWN;
		s->slot = OP_HOTSPOT_UNKNOWN;
		return true;
	}
	if (in->op == 0x89 && in->reg == RBP && slot != OP_HOTSPOT_UNKNOWN) {
		if (s->base == OP_HOTSPOT_SAME)
			s->saved = slot;
		return true;
	}
	if (in->op == 0x8b && in->reg == RBP && slot != OP_HOTSPOT_UNKNOWN) {
		restore(s, slot);
		return true;
	}
	return false;
}

/* Apply the effect of @in to the state. */
static void follow(const struct op_hotspot_instruction *in, struct op_hotspot_stack *s)
{
	bool one = in->map == OP_HOTSPOT_MAP_ONE && !in->vex;
	uint8_t op = in->op;

	if (one && op >= 0x50 && op < 0x58) {
		push(s, in->rm == RBP);
	} else if (one && op >= 0x58 && op < 0x60) {
		if (in->rm == RBP)
			restore(s, s->depth);
		if (in->rm == s->copy)
			s->copied = OP_HOTSPOT_UNKNOWN;
		if (in->rm == RSP)
			s->depth = s->slot = OP_HOTSPOT_UNKNOWN;
		move_rsp(s, -8);
	} else if (one && (op == 0x68 || op == 0x6a || op == 0x9c)) {
		push(s, false);
	} else if (one && op == 0x9d) {
		move_rsp(s, -8);
	} else if (one && op == 0xff && (in->reg & 7) == 6) {
		push(s, false);
	} else if (one && op == 0xc9) {
		int16_t base = s->base;

		copy(s, true, 0);
		restore(s, base);
		move_rsp(s, -8);
	} else if (one && (op == 0xc8 || op == 0x8f)) {
		s->depth = s->base = OP_HOTSPOT_UNKNOWN;
	} else if (!one || !in->operand || !follow_operand(in, s)) {
		bool is_call = one && (op == 0xe8 || op == 0xff);

		if (!is_call && writes(in, RSP)) {
			s->depth = OP_HOTSPOT_UNKNOWN;
			s->slot = OP_HOTSPOT_UNKNOWN;
		}
		if (is_call || writes(in, s->copy))
			s->copied = OP_HOTSPOT_UNKNOWN;
		if (!is_call && writes(in, RBP))
			s->base = OP_HOTSPOT_UNKNOWN;
	}
}

static bool is_return(const struct op_hotspot_instruction *in)
{
	return in->map == OP_HOTSPOT_MAP_ONE && !in->vex &&
	       (in->op == 0xc3 || in->op == 0xc2);
}

/* Two bytes of zeros are an instruction, but real code has none. */
static bool decode(const uint8_t *code, size_t len, struct op_hotspot_instruction *ret)
{
	if (len >= 2 && !code[0] && !code[1])
		return false;
	return op_runtime_hotspot_instruction(code, len, ret);
}

static bool is_padding(const struct op_hotspot_instruction *in)
{
	return (in->map == OP_HOTSPOT_MAP_ONE && (in->op == 0x90 || in->op == 0xf4)) ||
	       (in->map == OP_HOTSPOT_MAP_0F && in->op == 0x1f);
}

/* Does a routine begin at @at that makes a frame record at once? It is aligned, or the
 * code before it does not lead there: a return, a jump or padding. */
static bool is_prologue(const uint8_t *code, size_t len, size_t at)
{
	static const uint8_t prologue[2][4] = { { 0x55, 0x48, 0x8b, 0xec },
						{ 0x55, 0x48, 0x89, 0xe5 } };
	const uint8_t *p = code + at;

	if (len - at < sizeof(prologue[0]) ||
	    (memcmp(p, prologue[0], 4) != 0 && memcmp(p, prologue[1], 4) != 0))
		return false;
	return at % PROLOGUE_ALIGNED == 0 || at < 5 || p[-1] == 0xc3 || p[-1] == 0x90 ||
	       p[-1] == 0xf4 || !p[-1] || p[-2] == 0xeb || p[-5] == 0xe9;
}

const struct op_hotspot_machine op_hotspot_x86_64 = {
	.elf = EM_X86_64,
	.entry = ENTRY,
	.rules = op_runtime_hotspot_rules,
	.instruction = op_runtime_hotspot_instruction,
	.decode = decode,
	.follow = follow,
	.is_return = is_return,
	.is_padding = is_padding,
	.is_prologue = is_prologue,
};
