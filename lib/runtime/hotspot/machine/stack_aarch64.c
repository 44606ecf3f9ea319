/* SPDX-License-Identifier: Apache-2.0 */
/* aarch64: how instructions move the stack pointer, the frame pointer and lr (stack.h;
 * Arm ARM, C4.1). */
#include <elf.h>
#include <stdlib.h>

#include "base/reader.h"
#include "runtime/hotspot/machine/aarch64.h"

enum {
	FP = OP_HOTSPOT_ARM_FP,
	LR = OP_HOTSPOT_ARM_LR,
	SP = OP_HOTSPOT_ARM_SP,
	/* of loads and stores, in this order */
	ACCESS_OFFSET = 0,
	ACCESS_POST,
	ACCESS_PRE,
	ACCESS_COMPUTED, /* sp changes by a number that is not known */
};

/* A load or store of general registers or vectors with sp as its base. */
struct access {
	int64_t off;
	uint32_t how;
	bool load;
	bool general;
	uint8_t reg;
	uint8_t second; /* SP: there is one register */
};

static int64_t sign_extend(uint32_t v, uint32_t bits)
{
	return (int64_t)((uint64_t)v << (64 - bits)) >> (64 - bits);
}

static void lose_sp(struct op_hotspot_stack *s)
{
	s->depth = s->slot = OP_HOTSPOT_UNKNOWN;
}

static void move_sp(struct op_hotspot_stack *s, int64_t down)
{
	if (s->depth != OP_HOTSPOT_UNKNOWN)
		s->depth = op_hotspot_distance(s->depth + down);
}

/* Bytes of a vector load or store of several structures that moves its base; 0: by a
 * register. */
static int64_t structures(uint32_t op)
{
	static const uint8_t count[16] = { 4, 0, 4, 0, 3, 0, 3, 1, 2, 0, 2 };

	return (op >> 16 & 31) == 31
		       ? (int64_t)count[op >> 12 & 15] * (op >> 30 & 1 ? 16 : 8)
		       : 0;
}

/* Does @op load or store with sp as its base? */
static bool read_access(uint32_t op, struct access *ret)
{
	uint32_t size = op >> 30;
	bool vector = op >> 26 & 1;

	*ret = (struct access){
		.general = !vector, .load = op >> 22 & 1, .reg = op & 31, .second = SP
	};
	if ((op & 0x0a000000) != 0x08000000 || (op >> 5 & 31) != SP)
		return false;
	if ((op & 0x3a000000) == 0x28000000) { /* pairs */
		ret->second = op >> 10 & 31;
		ret->off = sign_extend(op >> 15 & 0x7f, 7) * (vector	  ? 4 << size
							      : size == 2 ? 8
									  : 4);
		ret->how = op >> 23 & 1 ? op >> 24 & 1 ? ACCESS_PRE : ACCESS_POST
					: ACCESS_OFFSET;
	} else if ((op & 0x3b200000) == 0x38000000) { /* 9 bits */
		ret->load = op >> 22 & 3;
		ret->off = sign_extend(op >> 12 & 0x1ff, 9);
		ret->how = (op >> 10 & 3) == 1	 ? ACCESS_POST
			   : (op >> 10 & 3) == 3 ? ACCESS_PRE
						 : ACCESS_OFFSET;
	} else if ((op & 0x3b000000) == 0x39000000) { /* 12 bits */
		ret->load = op >> 22 & 3;
		ret->off = (int64_t)(op >> 10 & 0xfff) << size;
	} else if ((op & 0xbf000000) == 0x0c000000 || (op & 0xbf000000) == 0x0d000000) {
		ret->off = (op & 0x01000000) ? 0 : structures(op);
		if (op >> 23 & 1)
			ret->how = ret->off ? ACCESS_POST : ACCESS_COMPUTED;
	}
	return true;
}

/* fp and lr are saved, or loaded from where they were saved. Code that saves all
 * registers, and so its own fp, restores that. */
static void follow_pair(const struct access *a, int16_t at, struct op_hotspot_stack *s)
{
	bool pair = a->reg == FP && a->second == LR;

	if (!a->general)
		return;
	if (!a->load) {
		if (pair && s->base == OP_HOTSPOT_SAME && !s->called &&
		    at != OP_HOTSPOT_UNKNOWN)
			s->saved = at;
	} else if (pair) {
		bool is_caller = at != OP_HOTSPOT_UNKNOWN && at == s->saved;

		s->base = is_caller ? OP_HOTSPOT_SAME : OP_HOTSPOT_UNKNOWN;
		s->called = !is_caller;
	} else if (a->reg == LR || a->second == LR) {
		s->called = true;
	} else if ((a->reg == FP || a->second == FP) && s->base == OP_HOTSPOT_SAME) {
		s->base = OP_HOTSPOT_UNKNOWN;
	}
}

static void follow_access(const struct access *a, struct op_hotspot_stack *s)
{
	int64_t off = a->how == ACCESS_POST ? 0 : a->off;
	int16_t at = s->depth == OP_HOTSPOT_UNKNOWN ? OP_HOTSPOT_UNKNOWN
						    : op_hotspot_distance(s->depth - off);

	follow_pair(a, at, s);
	if (a->how == ACCESS_COMPUTED)
		lose_sp(s);
	else if (a->how != ACCESS_OFFSET)
		move_sp(s, -a->off);
}

/* add or sub with an immediate, of or to sp: @n is added. Returns whether it is one. */
static bool read_add(uint32_t op, int64_t *ret)
{
	int64_t n = (int64_t)(op >> 10 & 0xfff) << (op >> 22 & 1 ? 12 : 0);

	if ((op & 0xbf800000) != 0x91000000 && (op & 0xff800000) != 0xd1000000)
		return false;
	*ret = op >> 30 & 1 ? -n : n;
	return true;
}

static void follow_add(uint32_t op, int64_t n, struct op_hotspot_stack *s)
{
	uint32_t to = op & 31;
	uint32_t from = op >> 5 & 31;
	int16_t value = from == SP	  ? s->depth
			: from == FP	  ? s->base
			: from == s->copy ? s->copied
					  : OP_HOTSPOT_UNKNOWN;

	if (value != OP_HOTSPOT_UNKNOWN && value != OP_HOTSPOT_SAME)
		value = op_hotspot_distance(value - n);
	else if (from != FP || value != OP_HOTSPOT_SAME || to != FP || n)
		value = OP_HOTSPOT_UNKNOWN;
	if (to == SP) {
		s->depth = value;
	} else if (to == FP) {
		s->base = value;
	} else if (from == SP) {
		s->copy = (uint8_t)to;
		s->copied = value;
	} else if (to == s->copy) {
		s->copied = OP_HOTSPOT_UNKNOWN;
	}
	if (to == LR)
		s->called = true;
}

/* Does @op, which is no load, no store and no add of an immediate, write @reg? */
static bool writes(uint32_t op, uint32_t reg)
{
	bool immediate = (op & 0x1c000000) == 0x10000000;
	bool is_register = (op & 0x0e000000) == 0x0a000000;

	if ((op & 0x1fe00000) == 0x1a400000) /* ccmp */
		return false;
	if (reg != SP)
		return (immediate || is_register) && (op & 31) == reg;
	return (op & 31) == SP &&
	       (((op & 0x1f800000) == 0x12000000 &&
		 (op & 0x60000000) != 0x60000000) || /* and, orr, eor */
		(op & 0x3fe00000) == 0x0b200000 ||   /* add, sub */
		(op & 0xffe0f000) == 0x04205000);    /* SVE: addvl */
}

static void follow(const struct op_hotspot_instruction *in, struct op_hotspot_stack *s)
{
	uint32_t op = in->word;
	bool is_load = (op & 0x0a000000) == 0x08000000 && !(op & 0x04000000);
	struct access access;
	int64_t n;

	if (op_hotspot_arm_is_call(op)) {
		s->called = true;
		s->copied = OP_HOTSPOT_UNKNOWN;
	} else if (read_access(op, &access)) {
		follow_access(&access, s);
		if (access.load && access.general &&
		    (access.reg == s->copy || access.second == s->copy))
			s->copied = OP_HOTSPOT_UNKNOWN;
	} else if (read_add(op, &n)) {
		follow_add(op, n, s);
	} else if (is_load) { /* it may be a store, too */
		if ((op & 31) == FP)
			s->base = OP_HOTSPOT_UNKNOWN;
		s->called |= (op & 31) == LR;
		if ((op & 31) == s->copy || (op >> 10 & 31) == s->copy)
			s->copied = OP_HOTSPOT_UNKNOWN;
	} else {
		if (writes(op, SP))
			lose_sp(s);
		if (writes(op, FP))
			s->base = OP_HOTSPOT_UNKNOWN;
		s->called |= writes(op, LR);
		if (writes(op, s->copy))
			s->copied = OP_HOTSPOT_UNKNOWN;
	}
}

static bool is_return(const struct op_hotspot_instruction *in)
{
	return (in->word & 0xfffffc1f) == 0xd65f0000 ||
	       (in->word & 0xfffffbff) == 0xd65f0bff;
}

/* nop, and the trap of stop(), to which code jumps from anywhere */
static bool is_padding(const struct op_hotspot_instruction *in)
{
	return in->word == 0xd503201f ||
	       ((in->word & 0xff000000) == 0xd4000000 && in->leaves);
}

static bool is_prologue(const uint8_t *code, size_t len, size_t at)
{
	struct op_reader r = op_reader_init(code, len);
	struct op_hotspot_instruction before;

	op_reader_seek(&r, at);
	if (at % OP_HOTSPOT_ARM_BYTES || op_read_u32(&r) != OP_HOTSPOT_ARM_PUSH ||
	    op_read_u32(&r) != OP_HOTSPOT_ARM_RECORD || r.failed)
		return false;
	return at < OP_HOTSPOT_ARM_BYTES ||
	       !op_hotspot_aarch64_instruction(code + at - OP_HOTSPOT_ARM_BYTES,
					       OP_HOTSPOT_ARM_BYTES, &before) ||
	       before.leaves || is_padding(&before);
}

const struct op_hotspot_machine op_hotspot_aarch64 = {
	.elf = EM_AARCH64,
	.entry = 0, /* the return address is in lr */
	.rules = op_runtime_hotspot_rules_aarch64,
	.instruction = op_hotspot_aarch64_instruction,
	.decode = op_hotspot_aarch64_instruction,
	.follow = follow,
	.is_return = is_return,
	.is_padding = is_padding,
	.is_prologue = is_prologue,
};
