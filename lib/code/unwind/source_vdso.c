/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of aarch64's vDSO. Linux gives its __kernel_rt_sigreturn no frame information,
 * since unwinders recognise it by its instructions, and since 5.15 gives none to its
 * functions either. The functions are read here: they are small, compiled without
 * variable frames, and save x29 and x30 as a pair, if at all.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "code/unwind/source.h"

enum {
	INSTRUCTION = 4,
	CODE_BYTES_MAX = 65536, /* two pages today */
	/* two instructions, and the one after them, at which the pc is during the call */
	SIGNAL_BYTES = 12,
};

/* The state of a function's frame at an instruction. */
enum frame {
	FRAME_NONE, /* there is none, as at the function's start */
	FRAME_SP,   /* x29 and x30 were pushed */
	FRAME_FP,   /* and x29 points to it */
};

struct code {
	uint32_t *word;
	uint8_t *starts; /* is this the first instruction of a function? */
	uint64_t addr;
	size_t len;
};

static bool is_push(uint32_t word) /* stp x29, x30, [sp, #-n]! */
{
	return (word & 0xffe07fff) == 0xa9a07bfd;
}

static bool is_pop(uint32_t word) /* ldp x29, x30, [sp], #n */
{
	return (word & 0xffe07fff) == 0xa8c07bfd;
}

static bool sets_fp(uint32_t word) /* mov x29, sp */
{
	return word == 0x910003fd;
}

static bool is_return(uint32_t word) /* ret, retaa, retab */
{
	return word == 0xd65f03c0 || word == 0xd65f0bff || word == 0xd65f0fff;
}

/* The bytes that a push takes: its 7-bit offset is in units of 8 bytes. */
static int32_t bytes_of_push(uint32_t word)
{
	return (128 - (int32_t)(word >> 15 & 127)) * 8;
}

static int on_symbol(void *data, const struct op_elf_symbol *symbol, uint32_t name)
{
	struct code *code = data;
	uint64_t at = symbol->value - code->addr;

	if (at / INSTRUCTION < code->len)
		code->starts[at / INSTRUCTION] = 1;
	return 0;
}

/* Functions begin at symbols and at targets of `bl`. */
static void find_starts(struct op_elf *elf, struct code *code)
{
	struct op_elf_symtab table;
	size_t i;

	if (op_elf_symtab(elf, OP_ELF_DYNSYM, &table) > 0)
		(void)op_elf_symbol_each(elf, &table, on_symbol, code);
	for (i = 0; i < code->len; i++) {
		int32_t by = (int32_t)(code->word[i] << 6) >> 6;

		if (code->word[i] >> 26 == 0x25 && i + (size_t)(int64_t)by < code->len)
			code->starts[i + (size_t)(int64_t)by] = 1;
	}
}

static struct op_unwind_rule rule_of(enum frame frame, int32_t bytes)
{
	if (frame == FRAME_NONE)
		return (struct op_unwind_rule){ .cfa = OP_CFA_SP, .save = OP_SAVE_NONE };
	return (struct op_unwind_rule){ .cfa = frame == FRAME_SP ? OP_CFA_SP : OP_CFA_FP,
					.cfa_off = bytes,
					.save = OP_SAVE_PAIR,
					.save_off = (int16_t)-bytes };
}

/* Give @b the rows of instructions [@from, @to). */
static int read_code(const struct code *code, size_t from, size_t to,
		     struct op_builder *b)
{
	enum frame frame = FRAME_NONE;
	/* the frame between the function's prologue and epilogues */
	enum frame body = FRAME_NONE;
	int32_t bytes = 0;
	size_t i;
	int r = op_builder_function(b, code->addr + from * INSTRUCTION,
				    code->addr + to * INSTRUCTION);

	if (r <= 0)
		return r;
	for (i = from; r >= 0 && i < to; i++) {
		uint32_t before = i > from ? code->word[i - 1] : 0;

		if (i == from || code->starts[i]) {
			frame = body = FRAME_NONE;
		} else if (is_push(before)) {
			frame = body = FRAME_SP;
			bytes = bytes_of_push(before);
		} else if (sets_fp(before) && frame == FRAME_SP) {
			frame = body = FRAME_FP;
		} else if (is_pop(before)) {
			frame = FRAME_NONE;
		} else if (is_return(before)) {
			frame = body;
		}
		r = op_builder_row(b, code->addr + i * INSTRUCTION,
				   rule_of(frame, bytes));
	}
	return r;
}

/* Read all of the text except the instruction before @signal, which is a nop. */
static int read_text(struct op_elf *elf, const struct op_elf_section *text,
		     uint64_t signal, struct op_builder *b)
{
	struct code code = { .addr = text->addr, .len = text->size / INSTRUCTION };
	size_t at = (size_t)(signal - text->addr) / INSTRUCTION;
	_cleanup_free_ uint32_t *word = NULL;
	_cleanup_free_ uint8_t *starts = NULL;
	int r;

	word = calloc(code.len, sizeof(*word));
	starts = calloc(code.len, 1);
	if (!word || !starts)
		return -ENOMEM;
	code.word = word;
	code.starts = starts;
	r = op_elf_read_vaddr(elf, text->addr, word, code.len * sizeof(*word));
	if (r < 0)
		return 0;
	find_starts(elf, &code);
	if (at > 1)
		r = read_code(&code, 0, at - 1, b);
	if (r >= 0)
		r = op_builder_signal(b, signal, signal + SIGNAL_BYTES);
	at += SIGNAL_BYTES / INSTRUCTION;
	if (r >= 0 && at < code.len)
		r = read_code(&code, at, code.len, b);
	return r < 0 ? r : 0;
}

int op_source_vdso_read(struct op_elf *elf, struct op_builder *b)
{
	static const uint32_t sigreturn[] = { 0xd2801168, 0xd4000001 }; /* svc 139 */
	const struct op_elf_section *text = op_elf_section(elf, ".text");
	struct op_elf_symbol symbol;
	uint32_t code[2];
	int r;

	if (op_elf_machine(elf) != EM_AARCH64 || op_elf_size(elf) > CODE_BYTES_MAX)
		return 0;
	r = op_elf_find_symbol(elf, "__kernel_rt_sigreturn", &symbol);
	if (r <= 0)
		return r == -ENOMEM ? r : 0;
	if (op_elf_read_vaddr(elf, symbol.value, code, sizeof(code)) < 0 ||
	    memcmp(code, sigreturn, sizeof(code)) != 0)
		return 0;
	if (op_elf_section(elf, ".eh_frame") || !text || text->size > CODE_BYTES_MAX ||
	    symbol.value < text->addr || symbol.value - text->addr >= text->size)
		r = op_builder_signal(b, symbol.value, symbol.value + SIGNAL_BYTES);
	else
		r = read_text(elf, text, symbol.value, b);
	return r < 0 ? r : 0;
}
