/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/hotspot/machine/stack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "runtime/hotspot/machine/flow.h"

enum {
	RSP = 4, /* numbers in machine code */
	RBP = 5,
	UNKNOWN = INT16_MIN,
	SAME = INT16_MIN + 1, /* of struct state.base */
	DISTANCE_MAX = 16384,
	ENTRY = 8, /* the return address is at rsp */
	STEPS = 8, /* of each byte of code, in all attempts together */
	PROLOGUE_ALIGNED = 16,
	/* data begins at a multiple, and code at a multiple or behind other code */
	ALIGNED = 8,
};

/*
 * Positions before an instruction. Distances are in bytes, downwards from the caller's
 * rsp after the return. UNKNOWN: not certain.
 */
struct state {
	int16_t depth; /* of rsp */
	int16_t base;  /* of rbp; SAME: rbp is the caller's */
	int16_t saved; /* of the slot with the caller's rbp; 0: there is none */
	/* of the value of another register, which has a copy of rsp */
	int16_t copied;
	/* after rsp was aligned: of the earlier rsp in the slot at rsp + `slot` */
	int16_t kept;
	int16_t slot;
	uint8_t copy;  /* number of that register */
	uint8_t bytes; /* of the instruction */
	uint8_t phase; /* PHASE_* */
};

enum {
	PHASE_NONE, /* no path leads here */
	PHASE_QUEUED,
	PHASE_REACHED,
	PHASE_KEPT,   /* an earlier attempt came to its end */
	PHASE_INSIDE, /* of an instruction that was kept */
};

struct code {
	const uint8_t *bytes;
	size_t len;
	struct state *state; /* of each byte */
	uint32_t *queue;     /* of instructions whose state changed */
	size_t queued;
	uint32_t *made; /* instructions that this attempt reached first */
	size_t made_len;
	size_t steps; /* instructions that may still be followed */
	bool sure;    /* a routine begins where this attempt does */
};

static int16_t distance(int64_t bytes)
{
	return bytes < -DISTANCE_MAX || bytes > DISTANCE_MAX ? UNKNOWN : (int16_t)bytes;
}

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

static void move_rsp(struct state *s, int64_t down)
{
	s->slot = s->slot == UNKNOWN ? UNKNOWN : distance(s->slot + down);
	s->depth = s->depth == UNKNOWN ? UNKNOWN : distance(s->depth + down);
}

static void push(struct state *s, bool is_rbp)
{
	move_rsp(s, 8);
	if (is_rbp && s->base == SAME && s->depth != UNKNOWN)
		s->saved = s->depth;
}

/* rbp is loaded from @at. */
static void restore(struct state *s, int16_t at)
{
	s->base = at != UNKNOWN && at == s->saved ? SAME : UNKNOWN;
}

/* rsp or rbp gets the value of the other one plus @off. */
static void copy(struct state *s, bool to_rsp, int64_t off)
{
	int16_t from = to_rsp ? s->base : s->depth;
	int16_t at = from == UNKNOWN || from == SAME ? UNKNOWN : distance(from - off);

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
static bool follow_move(const struct op_hotspot_instruction *in, struct state *s)
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
static bool follow_operand(const struct op_hotspot_instruction *in, struct state *s)
{
	bool is_sp = is_memory(in, RSP) && s->depth != UNKNOWN;
	int16_t slot = is_sp ? distance(s->depth - (int64_t)in->displacement) : UNKNOWN;

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
	    s->depth == UNKNOWN && s->copied != UNKNOWN) {
		s->kept = s->copied;
		s->slot = distance(in->displacement);
		return true;
	}
	if (in->op == 0x8b && in->reg == RSP && is_memory(in, RSP)) {
		s->depth = in->displacement == s->slot ? s->kept : UNKNOWN;
		s->slot = UNKNOWN;
		return true;
	}
	if (in->op == 0x89 && in->reg == RBP && slot != UNKNOWN) {
		if (s->base == SAME)
			s->saved = slot;
		return true;
	}
	if (in->op == 0x8b && in->reg == RBP && slot != UNKNOWN) {
		restore(s, slot);
		return true;
	}
	return false;
}

/* Apply the effect of @in to the state. */
static void follow(const struct op_hotspot_instruction *in, struct state *s)
{
	bool one = in->map == OP_HOTSPOT_MAP_ONE && !in->vex;
	uint8_t op = in->op;

	if (one && op >= 0x50 && op < 0x58) {
		push(s, in->rm == RBP);
	} else if (one && op >= 0x58 && op < 0x60) {
		if (in->rm == RBP)
			restore(s, s->depth);
		if (in->rm == s->copy)
			s->copied = UNKNOWN;
		if (in->rm == RSP)
			s->depth = s->slot = UNKNOWN;
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
		s->depth = s->base = UNKNOWN;
	} else if (!one || !in->operand || !follow_operand(in, s)) {
		bool is_call = one && (op == 0xe8 || op == 0xff);

		if (!is_call && writes(in, RSP)) {
			s->depth = UNKNOWN;
			s->slot = UNKNOWN;
		}
		if (is_call || writes(in, s->copy))
			s->copied = UNKNOWN;
		if (!is_call && writes(in, RBP))
			s->base = UNKNOWN;
	}
	/* values below rsp are gone */
	if (s->base != SAME && s->depth != UNKNOWN && s->saved != UNKNOWN &&
	    s->saved > s->depth)
		s->saved = UNKNOWN;
}

static bool is_return(const struct op_hotspot_instruction *in)
{
	return in->map == OP_HOTSPOT_MAP_ONE && !in->vex &&
	       (in->op == 0xc3 || in->op == 0xc2);
}

/* Two bytes of zeros are an instruction, but real code has none. */
static bool decode(const struct code *c, size_t at, struct op_hotspot_instruction *ret)
{
	if (c->len - at >= 2 && !c->bytes[at] && !c->bytes[at + 1])
		return false;
	return op_runtime_hotspot_instruction(c->bytes + at, c->len - at, ret);
}

/* Reduce @to to what both states agree on. Returns whether that changed it. */
static bool meet(struct state *to, const struct state *s)
{
	struct state now = *to;

	if (now.depth != s->depth)
		now.depth = UNKNOWN;
	if (now.base != s->base)
		now.base = UNKNOWN;
	if (now.saved != s->saved)
		now.saved = UNKNOWN;
	if (now.copy != s->copy || now.copied != s->copied)
		now.copied = UNKNOWN;
	if (now.kept != s->kept || now.slot != s->slot)
		now.slot = UNKNOWN;
	if (memcmp(&now, to, sizeof(now)) == 0)
		return false;
	*to = now;
	return true;
}

/* Execution may reach @at with the state @s. Returns false if that is not a place for
 * code, or if an earlier attempt found another state. */
static bool arrive(struct code *c, int64_t at, const struct state *s)
{
	struct op_hotspot_instruction in;
	struct state *there;
	struct state before;

	if (at < 0 || (uint64_t)at >= c->len)
		return true; /* other code */
	there = &c->state[at];
	before = *there;
	if (there->phase == PHASE_INSIDE)
		return false;
	if (!there->phase) {
		if (!decode(c, (size_t)at, &in))
			return false;
		*there = *s;
		there->bytes = (uint8_t)in.bytes;
		c->made[c->made_len++] = (uint32_t)at;
	} else if (!meet(there, s)) {
		return true;
	} else if (before.phase == PHASE_KEPT) {
		*there = before;
		return false;
	}
	there->phase = PHASE_QUEUED;
	if (before.phase != PHASE_QUEUED)
		c->queue[c->queued++] = (uint32_t)at;
	return true;
}

/* Continue from the instruction at @at. Returns false if this is not code. */
static bool advance(struct code *c, uint32_t at)
{
	struct op_hotspot_instruction in;
	struct state s = c->state[at];

	c->state[at].phase = PHASE_REACHED;
	if (!c->steps || !decode(c, at, &in))
		return false;
	c->steps--;
	if (is_return(&in))
		return (s.depth == ENTRY || (c->sure && s.depth == UNKNOWN)) &&
		       (s.base == SAME || (c->sure && s.base == UNKNOWN));
	follow(&in, &s);
	return (!in.jump || arrive(c, (int64_t)at + in.to, &s)) &&
	       (in.leaves || arrive(c, (int64_t)at + in.bytes, &s));
}

static void keep(struct state *s)
{
	uint8_t i;

	s->phase = PHASE_KEPT;
	for (i = 1; i < s->bytes; i++)
		if (s[i].phase == PHASE_NONE)
			s[i].phase = PHASE_INSIDE;
}

/* Try whether a routine begins at @at. If not, the results are dropped. */
static void attempt(struct code *c, size_t at)
{
	const struct state entry = {
		.depth = ENTRY, .base = SAME, .copied = UNKNOWN, .slot = UNKNOWN
	};
	bool is_code;
	size_t i;

	c->queued = 0;
	c->made_len = 0;
	is_code = arrive(c, (int64_t)at, &entry);
	while (is_code && c->queued)
		is_code = advance(c, c->queue[--c->queued]);
	for (i = 0; i < c->made_len; i++) {
		struct state *s = &c->state[c->made[i]];

		if (is_code)
			keep(s);
		else
			*s = (struct state){ .phase = PHASE_NONE };
	}
}

static bool is_padding(const struct op_hotspot_instruction *in)
{
	return (in->map == OP_HOTSPOT_MAP_ONE && (in->op == 0x90 || in->op == 0xf4)) ||
	       (in->map == OP_HOTSPOT_MAP_0F && in->op == 0x1f);
}

/* Does a routine begin at @at that makes a frame record at once? It is aligned, or the
 * code before it does not lead there: a return, a jump or padding. */
static bool is_prologue(const struct code *c, size_t at)
{
	static const uint8_t prologue[2][4] = { { 0x55, 0x48, 0x8b, 0xec },
						{ 0x55, 0x48, 0x89, 0xe5 } };
	const uint8_t *p = c->bytes + at;

	if (c->len - at < sizeof(prologue[0]) ||
	    (memcmp(p, prologue[0], 4) != 0 && memcmp(p, prologue[1], 4) != 0))
		return false;
	return at % PROLOGUE_ALIGNED == 0 || at < 5 || p[-1] == 0xc3 || p[-1] == 0x90 ||
	       p[-1] == 0xf4 || !p[-1] || p[-2] == 0xeb || p[-5] == 0xe9;
}

/* A place to which no path leads begins a routine, is data, or fills a gap. Certain
 * routines come first, because others jump into them. */
static void explore(struct code *c)
{
	struct op_hotspot_instruction in;
	size_t end = 0; /* of the instruction before */
	size_t at;

	c->sure = true;
	for (at = 0; at < c->len; at++)
		if (!c->state[at].phase && (!at || is_prologue(c, at)))
			attempt(c, at);
	/* Data may look like code that overlaps the beginning of the following code.
	 * Then its returns are wrong. */
	c->sure = false;
	for (at = 0; at < c->len; at++) {
		if (c->state[at].phase == PHASE_NONE && at >= end &&
		    (at == end || at % ALIGNED == 0)) {
			if (decode(c, at, &in) && is_padding(&in))
				end = at + in.bytes;
			else
				attempt(c, at);
		}
		if (c->state[at].phase == PHASE_KEPT)
			end = at + c->state[at].bytes;
	}
}

static struct op_hotspot_rule rule_of(const struct state *s, uint32_t at)
{
	struct op_hotspot_rule rule = { .at = at,
					.frame = OP_HOTSPOT_NO_RULE,
					.where = OP_HOTSPOT_FP_LOST };
	int16_t bytes = s->depth;

	if (s->phase != PHASE_KEPT)
		return rule;
	if (bytes != UNKNOWN) {
		rule.frame = OP_HOTSPOT_FROM_SP;
	} else if (s->base != UNKNOWN && s->base != SAME) {
		rule.frame = OP_HOTSPOT_FROM_FP;
		bytes = s->base;
	} else if (s->slot != UNKNOWN && s->slot >= 0 && s->slot % 8 == 0 &&
		   s->slot / 8 < OP_HOTSPOT_SLOTS) {
		rule.frame = (uint8_t)(OP_HOTSPOT_FROM_SLOT + s->slot / 8);
		bytes = s->kept;
	}
	if (bytes == UNKNOWN || bytes < ENTRY || bytes % 8) {
		rule.frame = OP_HOTSPOT_NO_RULE;
		return rule;
	}
	rule.words = (uint16_t)(bytes / 8);
	if (s->base == SAME)
		rule.where = OP_HOTSPOT_FP_SAME;
	else if (s->saved > 0 && s->saved % 8 == 0 && s->saved / 8 < OP_HOTSPOT_FP_LOST)
		rule.where = (uint8_t)(s->saved / 8);
	return rule;
}

static void add_rule(struct op_hotspot_stack_rules *to,
		     const struct op_hotspot_rule *rule)
{
	const struct op_hotspot_rule *last = &to->rule[to->count - 1];

	if (to->count && last->frame == rule->frame && last->where == rule->where &&
	    last->words == rule->words)
		return;
	if (to->count < to->max)
		to->rule[to->count++] = *rule;
	else
		to->lost++;
}

static void make_rules(const struct code *c, uint32_t at,
		       struct op_hotspot_stack_rules *to)
{
	static const struct state none = { .phase = PHASE_NONE };
	struct op_hotspot_rule rule;
	size_t end = 0; /* of the instruction before */
	size_t i;

	for (i = 0; i < c->len; i++) {
		bool is_kept = c->state[i].phase == PHASE_KEPT;

		if (!is_kept && i != end)
			continue;
		rule = rule_of(&c->state[i], at + (uint32_t)i);
		add_rule(to, &rule);
		if (is_kept)
			end = i + c->state[i].bytes;
	}
	rule = rule_of(&none, at + (uint32_t)c->len);
	add_rule(to, &rule);
}

int op_runtime_hotspot_stack(const uint8_t *code, size_t len, uint32_t at,
			     struct op_hotspot_stack_rules *to)
{
	_cleanup_free_ struct state *state = NULL;
	_cleanup_free_ uint32_t *numbers = NULL;
	struct code c = { .bytes = code,
			  .len = OP_MIN(len, (size_t)OP_HOTSPOT_STUBS_BYTES) };

	if (!c.len)
		return 0;
	c.state = state = calloc(c.len, sizeof(*state));
	c.queue = numbers = malloc(2 * c.len * sizeof(*numbers));
	if (!state || !numbers)
		return -ENOMEM;
	c.made = numbers + c.len;
	c.steps = c.len * STEPS;
	explore(&c);
	make_rules(&c, at, to);
	return 0;
}
