/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the interpreter's machine code for prologues and epilogues. */
#include "runtime/hotspot/machine/rules.h"

#include <stdbool.h>
#include <string.h>

#include "base/macros.h"

enum {
	METHOD_PUSH_MAX = 64, /* bytes from the frame's start to the push of the Method */
	JUMP_MAX = 96,	      /* bytes from the frame's end to the jump to the caller */
	SLOT_8 = 0xc8,	      /* -56: JDK 8 */
	SLOT_9 = 0xc0,	      /* -64: JDK 9 and later, with the mirror's slot above it */

	/* instructions */
	PUSH_RAX = 0x50,
	PUSH_RBX = 0x53,
	PUSH_RBP = 0x55,
	POP_FIRST = 0x58, /* + register */
	LEAVE = 0xc9,
	REX_B = 0x41,
	REX_W = 0x48,
	REX_WB = 0x49,
	RAX = 0, /* DWARF number */
};

struct scan {
	const uint8_t *code;
	uint32_t at; /* offset of the codelet */
	uint32_t end;
	enum op_hotspot_frame frame; /* the rule if no pattern says otherwise */
	struct op_hotspot_rules *rules;
};

/* DWARF numbers of the registers, by their numbers in machine code. */
static const uint8_t dwarf[16] = { 0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15 };

static bool has(const struct scan *s, uint32_t at, const void *bytes, uint32_t len)
{
	return at <= s->end && len <= s->end - at &&
	       memcmp(s->code + at, bytes, len) == 0;
}

static uint8_t byte(const struct scan *s, uint32_t at)
{
	return at < s->end ? s->code[at] : 0;
}

void op_runtime_hotspot_rules_add(struct op_hotspot_rules *rules, uint32_t at,
				  enum op_hotspot_frame frame, uint32_t where)
{
	struct op_hotspot_rule *last = &rules->rule[rules->count - 1];
	struct op_hotspot_rule rule = { .at = at,
					.frame = (uint8_t)frame,
					.where = (uint8_t)where };

	if (rules->count &&
	    (last->at > at || (last->frame == frame && last->where == where)))
		return;
	if (rules->count && last->at == at)
		rules->count--;
	if (rules->count < OP_HOTSPOT_RULES)
		rules->rule[rules->count++] = rule;
}

static void add(struct scan *s, uint32_t at, enum op_hotspot_frame frame, uint32_t where)
{
	op_runtime_hotspot_rules_add(s->rules, at, frame, where);
}

/* Decode a pop at @at. Returns its length, 0 if there is none. */
static uint32_t pop_at(const struct scan *s, uint32_t at, uint8_t *ret_reg)
{
	uint32_t prefix = byte(s, at) == REX_B;
	uint8_t op = byte(s, at + prefix);

	if (op < POP_FIRST || op >= POP_FIRST + 8)
		return 0;
	*ret_reg = (uint8_t)(op - POP_FIRST + prefix * 8);
	return prefix + 1;
}

/* Is "mov rsp, reg" (3 bytes) at @at? */
static bool is_stack_switch(const struct scan *s, uint32_t at)
{
	return (byte(s, at) == REX_W || byte(s, at) == REX_WB) &&
	       byte(s, at + 1) == 0x8b && (byte(s, at + 2) & 0xf8) == 0xe0;
}

/* The end of the jump to register @reg at or after @at, or 0. */
static uint32_t jump_behind(const struct scan *s, uint32_t at, uint8_t reg)
{
	const uint8_t jump[] = { REX_B, 0xff, (uint8_t)(0xe0 | (reg & 7)) };
	uint32_t from = reg < 8 ? 1 : 0;
	uint32_t end = OP_MIN(at + JUMP_MAX, s->end);

	for (; at < end; at++)
		if (has(s, at, jump + from, sizeof(jump) - from))
			return at + (uint32_t)sizeof(jump) - from;
	return 0;
}

/* leave; pop reg; mov rsp, reg: the frame is removed. JDK 25 has a mov byte [r15 + n], n
 * in between. */
static bool scan_epilogue(struct scan *s, uint32_t at)
{
	static const uint8_t store[] = { 0x41, 0xc6, 0x87 };
	enum {
		STORE_BYTES = 8
	};
	uint32_t pop = at + 1;
	uint32_t len;
	uint32_t end;
	uint8_t reg;

	if (byte(s, at) != LEAVE)
		return false;
	if (has(s, pop, store, sizeof(store)))
		pop += STORE_BYTES;
	len = pop_at(s, pop, &reg);
	if (!len || !is_stack_switch(s, pop + len))
		return false;
	s->rules->epilogues++;
	add(s, at + 1, OP_HOTSPOT_GONE, OP_HOTSPOT_RETURN_SP);
	add(s, pop + len, OP_HOTSPOT_GONE, OP_HOTSPOT_RETURN_REG + dwarf[reg]);
	end = jump_behind(s, pop + len, reg);
	if (end)
		add(s, end, s->frame, 0);
	return true;
}

/* pop reg; mov rsp, r13; jmp reg: the return of a method that never has a frame. */
static bool scan_quick_return(struct scan *s, uint32_t at)
{
	static const uint8_t sender[] = { 0x49, 0x8b, 0xe5 };
	uint8_t reg;
	uint32_t len = pop_at(s, at, &reg);
	uint32_t end;

	if (!len || !has(s, at + len, sender, sizeof(sender)))
		return false;
	end = jump_behind(s, at + len, reg);
	if (end != at + len + sizeof(sender) + 2)
		return false;
	add(s, at + len, OP_HOTSPOT_ENTRY, OP_HOTSPOT_RETURN_REG + dwarf[reg]);
	add(s, end, OP_HOTSPOT_ENTRY, OP_HOTSPOT_RETURN_SP);
	return true;
}

/* push rax; push rbp; mov rbp, rsp: the return address was in rax, and the
 * frame begins. */
static bool scan_prologue(struct scan *s, uint32_t at)
{
	static const uint8_t load[] = { PUSH_RAX, PUSH_RBP, REX_W, 0x8b, 0xec };
	static const uint8_t store[] = { PUSH_RAX, PUSH_RBP, REX_W, 0x89, 0xe5 };
	uint32_t made = at + (uint32_t)sizeof(load);
	uint32_t i;

	if (!has(s, at, load, sizeof(load)) && !has(s, at, store, sizeof(store)))
		return false;
	s->rules->prologues++;
	add(s, at + 1, OP_HOTSPOT_ENTRY, OP_HOTSPOT_RETURN_SP);
	add(s, at + 2, OP_HOTSPOT_ENTRY, OP_HOTSPOT_RETURN_BELOW);
	add(s, made, OP_HOTSPOT_HALF, 0);
	for (i = made; i < OP_MIN(made + METHOD_PUSH_MAX, s->end); i++) {
		if (byte(s, i) == PUSH_RBX) {
			add(s, i + 1, OP_HOTSPOT_BEGUN, 0);
			break;
		}
	}
	return true;
}

static void scan_method(struct scan *s)
{
	/* pop rax; lea r14, [rsp + rcx * 8 - 8]: the address of the locals */
	static const uint8_t locals[] = { 0x58, 0x4c, 0x8d, 0x74, 0xcc, 0xf8 };
	bool made = false;
	uint32_t i;

	add(s, s->at, OP_HOTSPOT_ENTRY, OP_HOTSPOT_RETURN_SP);
	s->frame = OP_HOTSPOT_BEGUN;
	for (i = s->at; i < s->end; i++) {
		if (made)
			(void)scan_epilogue(s, i);
		else if (has(s, i, locals, sizeof(locals)))
			add(s, i + 1, OP_HOTSPOT_ENTRY, OP_HOTSPOT_RETURN_REG + RAX);
		else if (!scan_quick_return(s, i))
			made = scan_prologue(s, i);
	}
}

static void scan_other(struct scan *s, bool bytecode)
{
	uint32_t i;

	s->frame = bytecode ? OP_HOTSPOT_BCP : OP_HOTSPOT_SLOT;
	add(s, s->at, s->frame, 0);
	for (i = s->at; i < s->end; i++)
		(void)scan_epilogue(s, i);
}

/* Find the frame slot of the bytecode pointer: "mov [rbp + slot], r13" precedes each
 * call. */
static int find_slot(const uint8_t *code, size_t len)
{
	static const uint8_t save[] = { 0x4c, 0x89, 0x6d };
	uint32_t eight = 0;
	uint32_t nine = 0;
	size_t i;

	for (i = 0; i + sizeof(save) < len; i++) {
		if (memcmp(code + i, save, sizeof(save)) != 0)
			continue;
		eight += code[i + sizeof(save)] == SLOT_8;
		nine += code[i + sizeof(save)] == SLOT_9;
	}
	return nine > eight ? (int8_t)SLOT_9 : eight ? (int8_t)SLOT_8 : 0;
}

void op_runtime_hotspot_rules(const uint8_t *code, size_t len,
			      const struct op_hotspot_codelet *codelets, size_t count,
			      struct op_hotspot_rules *ret)
{
	size_t i;

	memset(ret, 0, sizeof(*ret));
	ret->bcp_slot = find_slot(code, len);
	ret->has_mirror = ret->bcp_slot == (int8_t)SLOT_9;
	for (i = 0; i < count; i++) {
		const struct op_hotspot_codelet *c = &codelets[i];
		struct scan s = { .code = code, .at = c->at, .rules = ret };

		if (c->at >= len || c->bytes > len - c->at)
			break;
		s.end = c->at + c->bytes;
		if (c->kind == OP_HOTSPOT_IS_METHOD)
			scan_method(&s);
		else
			scan_other(&s, c->kind == OP_HOTSPOT_IS_BYTECODE);
	}
}
