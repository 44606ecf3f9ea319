/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/hotspot/machine/stack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "runtime/hotspot/machine/machine.h"

enum {
	STEPS = 8, /* of each byte of code, in all attempts together */
	/* data begins at a multiple, and code at a multiple or behind other code */
	ALIGNED = 8,
};

enum {
	PHASE_NONE, /* no path leads here */
	PHASE_QUEUED,
	PHASE_REACHED,
	PHASE_KEPT,   /* an earlier attempt came to its end */
	PHASE_INSIDE, /* of an instruction that was kept */
};

struct code {
	const struct op_hotspot_machine *machine;
	const uint8_t *bytes;
	size_t len;
	struct op_hotspot_stack *state; /* of each byte */
	uint32_t *queue;		/* of instructions whose state changed */
	size_t queued;
	uint32_t *made; /* instructions that this attempt reached first */
	size_t made_len;
	size_t steps; /* instructions that may still be followed */
	bool sure;    /* a routine begins where this attempt does */
};

/* Reduce @to to what both states agree on. Returns whether that changed it. */
static bool meet(struct op_hotspot_stack *to, const struct op_hotspot_stack *s)
{
	struct op_hotspot_stack now = *to;

	if (now.depth != s->depth)
		now.depth = OP_HOTSPOT_UNKNOWN;
	if (now.base != s->base)
		now.base = OP_HOTSPOT_UNKNOWN;
	if (now.saved != s->saved)
		now.saved = OP_HOTSPOT_UNKNOWN;
	if (now.copy != s->copy || now.copied != s->copied)
		now.copied = OP_HOTSPOT_UNKNOWN;
	if (now.kept != s->kept || now.slot != s->slot)
		now.slot = OP_HOTSPOT_UNKNOWN;
	now.called |= s->called;
	if (memcmp(&now, to, sizeof(now)) == 0)
		return false;
	*to = now;
	return true;
}

/* Execution may reach @at with the state @s. Returns false if that is not a place for
 * code, or if an earlier attempt found another state. */
static bool arrive(struct code *c, int64_t at, const struct op_hotspot_stack *s)
{
	struct op_hotspot_instruction in;
	struct op_hotspot_stack *there;
	struct op_hotspot_stack before;

	if (at < 0 || (uint64_t)at >= c->len)
		return true; /* other code */
	there = &c->state[at];
	before = *there;
	if (there->phase == PHASE_INSIDE)
		return false;
	if (!there->phase) {
		if (!c->machine->decode(c->bytes + at, c->len - (size_t)at, &in))
			return false;
		if (in.leaves && c->machine->is_padding(&in))
			return true; /* a trap: code jumps there from anywhere */
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
	struct op_hotspot_stack s = c->state[at];

	c->state[at].phase = PHASE_REACHED;
	if (!c->steps || !c->machine->decode(c->bytes + at, c->len - at, &in))
		return false;
	c->steps--;
	if (c->machine->is_return(&in))
		return (s.depth == c->machine->entry ||
			(c->sure && s.depth == OP_HOTSPOT_UNKNOWN)) &&
		       (s.base == OP_HOTSPOT_SAME ||
			(c->sure && s.base == OP_HOTSPOT_UNKNOWN));
	c->machine->follow(&in, &s);
	/* values below sp are gone */
	if (s.base != OP_HOTSPOT_SAME && s.depth != OP_HOTSPOT_UNKNOWN &&
	    s.saved != OP_HOTSPOT_UNKNOWN && s.saved > s.depth)
		s.saved = OP_HOTSPOT_UNKNOWN;
	return (!in.jump || arrive(c, (int64_t)at + in.to, &s)) &&
	       (in.leaves || arrive(c, (int64_t)at + in.bytes, &s));
}

static void keep(struct op_hotspot_stack *s)
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
	const struct op_hotspot_stack entry = { .depth = c->machine->entry,
						.base = OP_HOTSPOT_SAME,
						.copied = OP_HOTSPOT_UNKNOWN,
						.slot = OP_HOTSPOT_UNKNOWN };
	bool is_code;
	size_t i;

	c->queued = 0;
	c->made_len = 0;
	is_code = arrive(c, (int64_t)at, &entry);
	while (is_code && c->queued)
		is_code = advance(c, c->queue[--c->queued]);
	for (i = 0; i < c->made_len; i++) {
		struct op_hotspot_stack *s = &c->state[c->made[i]];

		if (is_code)
			keep(s);
		else
			*s = (struct op_hotspot_stack){ .phase = PHASE_NONE };
	}
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
		if (!c->state[at].phase &&
		    (!at || c->machine->is_prologue(c->bytes, c->len, at)))
			attempt(c, at);
	/* Data may look like code that overlaps the beginning of the following code.
	 * Then its returns are wrong. */
	c->sure = false;
	for (at = 0; at < c->len; at++) {
		if (c->state[at].phase == PHASE_NONE && at >= end &&
		    (at == end || at % ALIGNED == 0)) {
			if (c->machine->decode(c->bytes + at, c->len - at, &in) &&
			    c->machine->is_padding(&in))
				end = at + in.bytes;
			else
				attempt(c, at);
		}
		if (c->state[at].phase == PHASE_KEPT)
			end = at + c->state[at].bytes;
	}
}

/* Without a frame record, aarch64's return address is in lr, unless there was a call. */
static bool is_lost(const struct code *c, const struct op_hotspot_rule *rule,
		    const struct op_hotspot_stack *s)
{
	return !c->machine->entry && (rule->where == OP_HOTSPOT_FP_LOST ||
				      (rule->where == OP_HOTSPOT_FP_SAME && s->called));
}

static struct op_hotspot_rule rule_of(const struct code *c,
				      const struct op_hotspot_stack *s, uint32_t at)
{
	struct op_hotspot_rule rule = { .at = at,
					.frame = OP_HOTSPOT_NO_RULE,
					.where = OP_HOTSPOT_FP_LOST };
	int16_t bytes = s->depth;

	if (s->phase != PHASE_KEPT)
		return rule;
	if (bytes != OP_HOTSPOT_UNKNOWN) {
		rule.frame = OP_HOTSPOT_FROM_SP;
	} else if (s->base != OP_HOTSPOT_UNKNOWN && s->base != OP_HOTSPOT_SAME) {
		rule.frame = OP_HOTSPOT_FROM_FP;
		bytes = s->base;
	} else if (s->slot != OP_HOTSPOT_UNKNOWN && s->slot >= 0 && s->slot % 8 == 0 &&
		   s->slot / 8 < OP_HOTSPOT_SLOTS) {
		rule.frame = (uint8_t)(OP_HOTSPOT_FROM_SLOT + s->slot / 8);
		bytes = s->kept;
	}
	if (bytes == OP_HOTSPOT_UNKNOWN || bytes < c->machine->entry || bytes % 8) {
		rule.frame = OP_HOTSPOT_NO_RULE;
		return rule;
	}
	rule.words = (uint16_t)(bytes / 8);
	if (s->base == OP_HOTSPOT_SAME)
		rule.where = OP_HOTSPOT_FP_SAME;
	else if (s->saved > 0 && s->saved % 8 == 0 && s->saved / 8 < OP_HOTSPOT_FP_LOST)
		rule.where = (uint8_t)(s->saved / 8);
	if (is_lost(c, &rule, s))
		rule.frame = OP_HOTSPOT_NO_RULE;
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
	static const struct op_hotspot_stack none = { .phase = PHASE_NONE };
	struct op_hotspot_rule rule;
	size_t end = 0; /* of the instruction before */
	size_t i;

	for (i = 0; i < c->len; i++) {
		bool is_kept = c->state[i].phase == PHASE_KEPT;

		if (!is_kept && i != end)
			continue;
		rule = rule_of(c, &c->state[i], at + (uint32_t)i);
		add_rule(to, &rule);
		if (is_kept)
			end = i + c->state[i].bytes;
	}
	rule = rule_of(c, &none, at + (uint32_t)c->len);
	add_rule(to, &rule);
}

int op_runtime_hotspot_stack(const struct op_hotspot_machine *machine,
			     const uint8_t *code, size_t len, uint32_t at,
			     struct op_hotspot_stack_rules *to)
{
	_cleanup_free_ struct op_hotspot_stack *state = NULL;
	_cleanup_free_ uint32_t *numbers = NULL;
	struct code c = { .machine = machine,
			  .bytes = code,
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
