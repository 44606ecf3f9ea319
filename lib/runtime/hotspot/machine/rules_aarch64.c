/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the interpreter's aarch64 code for prologues and epilogues. */
#include <string.h>

#include "base/macros.h"
#include "base/reader.h"
#include "runtime/hotspot/machine/aarch64.h"

enum {
	WORD = OP_HOTSPOT_ARM_BYTES,
	FRAME_MAX = 16, /* instructions from the save of fp and lr to that of sp */
	SWITCH_MAX = 4, /* from their load to the change of sp */
	JUMP_MAX = 24,	/* and to the jump to the caller */
};

struct scan {
	const uint8_t *code;
	uint32_t at; /* offset of the codelet */
	uint32_t end;
	enum op_hotspot_frame frame; /* the rule if no pattern says otherwise */
	struct op_hotspot_rules *rules;
};

/* The instruction at @at, or 0. */
static uint32_t word(const struct scan *s, uint32_t at)
{
	struct op_reader r = op_reader_init(s->code, s->end);

	op_reader_seek(&r, at);
	return op_read_u32(&r);
}

static void add(struct scan *s, uint32_t at, enum op_hotspot_frame frame, uint32_t where)
{
	op_runtime_hotspot_rules_add(s->rules, at, frame, where);
}

/* and sp, xN, -16, or mov sp, xN other than fp. */
static bool is_stack_switch(uint32_t op)
{
	return (op & 0xfffffc1f) == 0x927cec1f ||
	       ((op & 0xfffffc1f) == 0x9100001f && op != 0x910003bf);
}

/* ret, or br xN */
static bool is_jump(uint32_t op)
{
	return (op & 0xff9ff000) == 0xd61f0000 && !op_hotspot_arm_is_call(op);
}

/* ldp xN, x30, [sp], 16, or ldr x30, [sp], 16 */
static bool loads_lr(uint32_t op)
{
	return (op & 0xffffffe0) == 0xa8c17be0 || op == 0xf84107fe;
}

/*
 * ldp x29, x30, [sp], 16; sp gets the caller's value; a return or a jump. Where an
 * exception leaves a method, the code between calls the VM to find the handler.
 */
static bool scan_epilogue(struct scan *s, uint32_t at)
{
	uint32_t i;

	if (word(s, at) != OP_HOTSPOT_ARM_POP)
		return false;
	for (i = 1; i <= SWITCH_MAX && !is_stack_switch(word(s, at + i * WORD)); i++)
		;
	if (i > SWITCH_MAX)
		return false;
	s->rules->epilogues++;
	add(s, at + WORD, OP_HOTSPOT_GONE, OP_HOTSPOT_RETURN_LR);
	for (; i <= JUMP_MAX; i++) {
		uint32_t next = at + (i + 1) * WORD;
		uint32_t op = word(s, at + i * WORD);

		if (is_jump(op)) {
			add(s, next, s->frame, 0);
			break;
		}
		if (op_hotspot_arm_is_call(op))
			add(s, next, OP_HOTSPOT_GONE, OP_HOTSPOT_RETURN_UNKNOWN);
		else if (loads_lr(op))
			add(s, next, OP_HOTSPOT_GONE, OP_HOTSPOT_RETURN_LR);
	}
	return true;
}

/*
 * stp x29, x30, [sp, n]; add x29, sp, n; stp xzr, xS, [sp, n - 16]: the frame's words are
 * below, and xS is the caller's sp.
 */
static bool scan_prologue(struct scan *s, uint32_t at)
{
	uint32_t op = word(s, at);
	uint32_t off = (op >> 15 & 0x7f) * 8;
	uint32_t i;

	if ((op & 0xffc07fff) != 0xa9007bfd ||
	    word(s, at + WORD) != (0x910003fd | off << 10))
		return false;
	s->rules->prologues++;
	add(s, at + 2 * WORD, OP_HOTSPOT_HALF, 0);
	for (i = 2; i < 2 + FRAME_MAX; i++) {
		op = word(s, at + i * WORD);
		if ((op & 0xffff83ff) != (0xa90003ff | (off - 16) / 8 << 15))
			continue;
		s->rules->entry_sender = op >> 10 & 31;
		add(s, at + (i + 1) * WORD, OP_HOTSPOT_BEGUN, 0);
		break;
	}
	return true;
}

/* A frame record around a call of the VM, in a method that has no frame: Reference.get()
 * with the barrier of a collector. */
static void scan_record(struct scan *s, uint32_t at)
{
	uint32_t op = word(s, at);

	if (op == OP_HOTSPOT_ARM_RECORD && word(s, at - WORD) == OP_HOTSPOT_ARM_PUSH)
		add(s, at + WORD, OP_HOTSPOT_HALF, 0);
	else if (op == OP_HOTSPOT_ARM_POP)
		add(s, at + WORD, OP_HOTSPOT_ENTRY, OP_HOTSPOT_RETURN_LR);
}

/* mov xN, x30; ...; br xN: a method that calls a stub and never has a frame. */
static void scan_kept(struct scan *s, uint32_t at)
{
	uint32_t op = word(s, at);
	uint32_t i;

	if ((op & 0xffffffe0) != 0xaa1e03e0)
		return;
	for (i = 1; i <= JUMP_MAX; i++) {
		if (word(s, at + i * WORD) != (0xd61f0000 | (op & 31) << 5))
			continue;
		add(s, at + WORD, OP_HOTSPOT_ENTRY, OP_HOTSPOT_RETURN_REG + (op & 31));
		add(s, at + (i + 1) * WORD, OP_HOTSPOT_ENTRY, OP_HOTSPOT_RETURN_LR);
		return;
	}
}

static void scan_method(struct scan *s)
{
	bool made = false;
	uint32_t i;

	add(s, s->at, OP_HOTSPOT_ENTRY, OP_HOTSPOT_RETURN_LR);
	s->frame = OP_HOTSPOT_BEGUN;
	for (i = s->at; i < s->end; i += WORD) {
		if (made) {
			(void)scan_epilogue(s, i);
			continue;
		}
		made = scan_prologue(s, i);
		scan_record(s, i);
		scan_kept(s, i);
	}
}

static void scan_other(struct scan *s, bool bytecode)
{
	uint32_t i;

	s->frame = bytecode ? OP_HOTSPOT_BCP : OP_HOTSPOT_SLOT;
	add(s, s->at, s->frame, 0);
	for (i = s->at; i < s->end; i += WORD)
		(void)scan_epilogue(s, i);
}

/* Find the frame slot of the bytecode pointer: str x22, [x29, slot] precedes calls. It is
 * at -56 in JDK 8, and at -72 in later versions, which have the mirror's slot above it. */
static void find_slot(const struct scan *s, struct op_hotspot_rules *ret)
{
	uint32_t eight = 0;
	uint32_t nine = 0;
	uint32_t i;

	for (i = 0; i < s->end; i += WORD) {
		eight += word(s, i) == 0xf81c83b6;
		nine += word(s, i) == 0xf81b83b6;
	}
	ret->has_mirror = nine > eight;
	ret->bcp_slot = ret->has_mirror ? -72 : eight ? -56 : 0;
}

void op_runtime_hotspot_rules_aarch64(const uint8_t *code, size_t len,
				      const struct op_hotspot_codelet *codelets,
				      size_t count, struct op_hotspot_rules *ret)
{
	size_t i;

	memset(ret, 0, sizeof(*ret));
	find_slot(&(struct scan){ .code = code, .end = (uint32_t)len }, ret);
	for (i = 0; i < count; i++) {
		const struct op_hotspot_codelet *c = &codelets[i];
		struct scan s = { .code = code, .rules = ret };

		if (c->at >= len || c->bytes > len - c->at)
			break;
		s.at = OP_ALIGN_UP(c->at, (uint32_t)WORD);
		s.end = c->at + c->bytes;
		if (c->kind == OP_HOTSPOT_IS_METHOD)
			scan_method(&s);
		else
			scan_other(&s, c->kind == OP_HOTSPOT_IS_BYTECODE);
	}
}
