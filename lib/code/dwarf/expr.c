/* SPDX-License-Identifier: Apache-2.0 */
/* A stack machine for DWARF expressions that computes with symbols instead of values. */
#include "code/dwarf/expr.h"

#include <string.h>

#include "base/reader.h"

enum {
	STACK_MAX = 16,
	STEPS_MAX = 256,
};

/* DWARF 5, section 7.7.1 */
enum {
	OP_addr = 0x03,
	OP_deref = 0x06,
	OP_const1u = 0x08,
	OP_const1s = 0x09,
	OP_const2u = 0x0a,
	OP_const2s = 0x0b,
	OP_const4u = 0x0c,
	OP_const4s = 0x0d,
	OP_const8u = 0x0e,
	OP_const8s = 0x0f,
	OP_constu = 0x10,
	OP_consts = 0x11,
	OP_dup = 0x12,
	OP_drop = 0x13,
	OP_over = 0x14,
	OP_swap = 0x16,
	OP_and = 0x1a,
	OP_minus = 0x1c,
	OP_mul = 0x1e,
	OP_plus = 0x22,
	OP_plus_uconst = 0x23,
	OP_shl = 0x24,
	OP_ge = 0x2a,
	OP_lit0 = 0x30,
	OP_lit31 = 0x4f,
	OP_breg0 = 0x70,
	OP_breg31 = 0x8f,
	OP_bregx = 0x92,
	OP_nop = 0x96,
};

enum kind {
	NUMBER, /* off */
	REG,	/* r + off */
	DEREF,	/* *(r + off) + add */
	CFA,	/* CFA + off */
	AT_CFA, /* *(CFA + off) + add */
	UNKNOWN,
};

struct symbol {
	enum kind kind;
	uint16_t reg;
	int64_t off;
	int64_t add;
};

struct stack {
	struct symbol item[STACK_MAX];
	size_t len;
	bool failed;
};

static void push(struct stack *s, struct symbol v)
{
	if (s->len == STACK_MAX)
		s->failed = true;
	else
		s->item[s->len++] = v;
}

static void push_number(struct stack *s, int64_t n)
{
	push(s, (struct symbol){ .kind = NUMBER, .off = n });
}

static struct symbol pop(struct stack *s)
{
	if (s->len == 0) {
		s->failed = true;
		return (struct symbol){ .kind = UNKNOWN };
	}
	return s->item[--s->len];
}

/* DWARF arithmetic wraps around. */
static int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static struct symbol plus(struct symbol a, struct symbol b)
{
	if (a.kind == NUMBER) {
		struct symbol swapped = a;

		a = b;
		b = swapped;
	}
	if (b.kind != NUMBER)
		return (struct symbol){ .kind = UNKNOWN };
	if (a.kind == DEREF || a.kind == AT_CFA)
		a.add = wrap_add(a.add, b.off);
	else
		a.off = wrap_add(a.off, b.off);
	return a;
}

static struct symbol minus(struct symbol a, struct symbol b)
{
	if (b.kind != NUMBER)
		return (struct symbol){ .kind = UNKNOWN };
	b.off = (int64_t)(0 - (uint64_t)b.off);
	return plus(a, b);
}

static struct symbol deref(struct symbol a)
{
	if (a.kind == REG)
		a.kind = DEREF;
	else if (a.kind == CFA)
		a.kind = AT_CFA;
	else
		a.kind = UNKNOWN;
	return a;
}

/* Evaluate an operation that is supported only for numbers. */
static struct symbol of_numbers(uint8_t op, struct symbol a, struct symbol b)
{
	uint64_t x = (uint64_t)a.off;
	uint64_t y = (uint64_t)b.off;

	if (a.kind != NUMBER || b.kind != NUMBER)
		return (struct symbol){ .kind = UNKNOWN };
	if (op == OP_and)
		x &= y;
	else if (op == OP_mul)
		x *= y;
	else
		x = y < 64 ? x << y : 0;
	return (struct symbol){ .kind = NUMBER, .off = (int64_t)x };
}

/* Evaluate an operation with an operand. Returns false if @op is not one of these. */
static bool step_operand(struct stack *s, uint8_t op, struct op_reader *r)
{
	uint16_t reg = (uint16_t)(op - OP_breg0);

	if (op >= OP_lit0 && op <= OP_lit31) {
		push_number(s, op - OP_lit0);
		return true;
	}
	if ((op >= OP_breg0 && op <= OP_breg31) || op == OP_bregx) {
		uint64_t n = op == OP_bregx ? op_read_uleb(r) : reg;

		if (n > UINT16_MAX)
			s->failed = true;
		push(s, (struct symbol){ .kind = REG,
					 .reg = (uint16_t)n,
					 .off = op_read_sleb(r) });
		return true;
	}
	switch (op) {
	case OP_const1u:
		push_number(s, op_read_u8(r));
		return true;
	case OP_const1s:
		push_number(s, op_read_s8(r));
		return true;
	case OP_const2u:
		push_number(s, op_read_u16(r));
		return true;
	case OP_const2s:
		push_number(s, op_read_s16(r));
		return true;
	case OP_const4u:
		push_number(s, op_read_u32(r));
		return true;
	case OP_const4s:
		push_number(s, op_read_s32(r));
		return true;
	case OP_addr:
	case OP_const8u:
	case OP_const8s:
		push_number(s, op_read_s64(r));
		return true;
	case OP_constu:
		push_number(s, (int64_t)op_read_uleb(r));
		return true;
	case OP_consts:
		push_number(s, op_read_sleb(r));
		return true;
	case OP_plus_uconst:
		push_number(s, (int64_t)op_read_uleb(r));
		push(s, plus(pop(s), pop(s)));
		return true;
	default:
		return false;
	}
}

static void step_stack(struct stack *s, uint8_t op)
{
	struct symbol b = pop(s);
	struct symbol a;

	switch (op) {
	case OP_deref:
		push(s, deref(b));
		return;
	case OP_dup:
		push(s, b);
		push(s, b);
		return;
	case OP_drop:
		return;
	default:
		break;
	}
	a = pop(s);
	switch (op) {
	case OP_over:
		push(s, a);
		push(s, b);
		push(s, a);
		return;
	case OP_swap:
		push(s, b);
		push(s, a);
		return;
	case OP_plus:
		push(s, plus(a, b));
		return;
	case OP_minus:
		push(s, minus(a, b));
		return;
	case OP_and:
	case OP_mul:
	case OP_shl:
		push(s, of_numbers(op, a, b));
		return;
	default:
		s->failed = true;
	}
}

/*
 * Is it the CFA expression of x86-64 .plt entries? Linkers write breg7 off, breg16 0,
 * lit15, and, lit N, ge, lit3, shl, plus. N is the byte of the entry at which its push is
 * done: 11, or 10 and 5 in entries that begin with endbr64.
 */
static bool is_plt(const uint8_t *bytes, size_t len, struct op_cfi_value *ret)
{
	static const uint8_t tail[] = { OP_ge, OP_lit0 + 3, OP_shl, OP_plus };
	struct op_reader r = op_reader_init(bytes, len);
	int64_t off;
	uint8_t at;

	if (op_read_u8(&r) != OP_breg0 + 7)
		return false;
	off = op_read_sleb(&r);
	if (op_read_u8(&r) != OP_breg0 + 16 || op_read_u8(&r) != 0 ||
	    op_read_u8(&r) != OP_lit0 + 15 || op_read_u8(&r) != OP_and)
		return false;
	at = op_read_u8(&r);
	if (r.failed || at < OP_lit0 || at > OP_lit0 + 15 ||
	    op_reader_left(&r) != sizeof(tail) || memcmp(r.pos, tail, sizeof(tail)) != 0)
		return false;
	*ret = (struct op_cfi_value){ .how = OP_CFI_PLT,
				      .off = off,
				      .add = at - OP_lit0 };
	return true;
}

static struct op_cfi_value value_of(struct symbol v)
{
	struct op_cfi_value ret = { .reg = v.reg, .off = v.off, .add = v.add };

	switch (v.kind) {
	case REG:
		ret.how = OP_CFI_IS_REG;
		return ret;
	case DEREF:
		ret.how = OP_CFI_AT_REG;
		return ret;
	case CFA:
		ret.how = OP_CFI_IS_CFA;
		return ret;
	case AT_CFA:
		ret.how = v.add ? OP_CFI_COMPLEX : OP_CFI_AT_CFA;
		return ret;
	default:
		return (struct op_cfi_value){ .how = OP_CFI_COMPLEX };
	}
}

struct op_cfi_value op_dwarf_expr_value(const uint8_t *bytes, size_t len, bool has_cfa)
{
	struct op_cfi_value complex = { .how = OP_CFI_COMPLEX };
	struct op_reader r = op_reader_init(bytes, len);
	struct stack s = { 0 };
	struct op_cfi_value plt;
	int steps = 0;

	if (!has_cfa && is_plt(bytes, len, &plt))
		return plt;
	if (has_cfa)
		push(&s, (struct symbol){ .kind = CFA });
	while (op_reader_left(&r) && !r.failed && !s.failed && steps++ < STEPS_MAX) {
		uint8_t op = op_read_u8(&r);

		if (op != OP_nop && !step_operand(&s, op, &r))
			step_stack(&s, op);
	}
	if (r.failed || s.failed || op_reader_left(&r) || !s.len)
		return complex;
	return value_of(pop(&s));
}
