/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the arguments of a static probe. An argument is SIZE@OPERAND: the size in bytes,
 * negative if it is signed, and the operand in the syntax of the machine's assembler. */
#include "parts/probes/argument.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

enum {
	NAME_BYTES = 8,
	WORD_BYTES = 8,
	AARCH64_REGISTERS = 31,
};

/* The registers of x86-64 in the order of struct pt_regs, each with its
 * narrower names. */
static const char *const X86_64[][4] = {
	{ "r15", "r15d", "r15w", "r15b" },
	{ "r14", "r14d", "r14w", "r14b" },
	{ "r13", "r13d", "r13w", "r13b" },
	{ "r12", "r12d", "r12w", "r12b" },
	{ "rbp", "ebp", "bp", "bpl" },
	{ "rbx", "ebx", "bx", "bl" },
	{ "r11", "r11d", "r11w", "r11b" },
	{ "r10", "r10d", "r10w", "r10b" },
	{ "r9", "r9d", "r9w", "r9b" },
	{ "r8", "r8d", "r8w", "r8b" },
	{ "rax", "eax", "ax", "al" },
	{ "rcx", "ecx", "cx", "cl" },
	{ "rdx", "edx", "dx", "dl" },
	{ "rsi", "esi", "si", "sil" },
	{ "rdi", "edi", "di", "dil" },
	{ "", "", "", "" },
	{ "", "", "", "" },
	{ "", "", "", "" },
	{ "", "", "", "" },
	{ "rsp", "esp", "sp", "spl" },
};

static bool number_at(const char **text, __s64 *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(*text, &end, 0);
	if (end == *text || errno)
		return false;
	*text = end;
	return true;
}

static bool skip(const char **text, char c)
{
	if (**text != c)
		return false;
	(*text)++;
	return true;
}

/* Read letters and digits at *@text. */
static bool name_at(const char **text, char ret[static NAME_BYTES])
{
	size_t len = strspn(*text, "abcdefghijklmnopqrstuvwxyz0123456789");

	if (!len || len >= NAME_BYTES)
		return false;
	memcpy(ret, *text, len);
	ret[len] = '\0';
	*text += len;
	return true;
}

static bool x86_64_register(const char **text, uint16_t *ret)
{
	char name[NAME_BYTES];
	size_t i;
	size_t k;

	if (!skip(text, '%') || !name_at(text, name))
		return false;
	for (i = 0; i < OP_ARRAY_SIZE(X86_64); i++)
		for (k = 0; k < OP_ARRAY_SIZE(X86_64[i]); k++)
			if (!strcmp(X86_64[i][k], name)) {
				*ret = (uint16_t)(i * WORD_BYTES);
				return true;
			}
	return false;
}

/* Parse %REG, $NUMBER or NUMBER(%REG). An index or a symbol is not supported. */
static bool x86_64_operand(const char **text, struct op_argument *ret)
{
	if (**text == '%') {
		ret->place = OP_ARGUMENT_REGISTER;
		return x86_64_register(text, &ret->reg);
	}
	if (skip(text, '$')) {
		ret->place = OP_ARGUMENT_CONSTANT;
		return number_at(text, &ret->offset);
	}
	ret->place = OP_ARGUMENT_MEMORY;
	if (**text != '(' && !number_at(text, &ret->offset))
		return false;
	return skip(text, '(') && x86_64_register(text, &ret->reg) && skip(text, ')');
}

static bool aarch64_register(const char **text, uint16_t *ret)
{
	char name[NAME_BYTES];
	const char *digits = name + 1;
	__s64 number;

	if (!name_at(text, name))
		return false;
	if (!strcmp(name, "sp")) {
		*ret = AARCH64_REGISTERS * WORD_BYTES;
		return true;
	}
	if ((name[0] != 'x' && name[0] != 'w') || !number_at(&digits, &number) ||
	    *digits || number < 0 || number >= AARCH64_REGISTERS)
		return false;
	*ret = (uint16_t)(number * WORD_BYTES);
	return true;
}

/* Parse REG, NUMBER, [REG] or [REG, NUMBER]. */
static bool aarch64_operand(const char **text, struct op_argument *ret)
{
	if (!skip(text, '[')) {
		ret->place = OP_ARGUMENT_REGISTER;
		if (strchr("xws", **text) && **text)
			return aarch64_register(text, &ret->reg);
		ret->place = OP_ARGUMENT_CONSTANT;
		return number_at(text, &ret->offset);
	}
	ret->place = OP_ARGUMENT_MEMORY;
	if (!aarch64_register(text, &ret->reg))
		return false;
	if (skip(text, ',')) {
		(void)skip(text, ' ');
		(void)skip(text, '#');
		if (!number_at(text, &ret->offset))
			return false;
	}
	return skip(text, ']');
}

static bool argument_at(const char **text, uint16_t machine, struct op_argument *ret)
{
	__s64 bytes = WORD_BYTES;
	bool known;

	*ret = (struct op_argument){ 0 };
	/* The size may be missing: then it is the machine's word. */
	if (memchr(*text, '@', strcspn(*text, " ")) &&
	    (!number_at(text, &bytes) || !skip(text, '@')))
		return false;
	known = machine == EM_X86_64 ? x86_64_operand(text, ret)
				     : aarch64_operand(text, ret);
	if (!known || (**text && **text != ' '))
		return false;
	ret->is_signed = bytes < 0;
	bytes = bytes < 0 ? -bytes : bytes;
	ret->bytes = (uint8_t)bytes;
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

uint32_t op_probe_arguments_parse(const char *text, uint16_t machine,
				  struct op_argument ret[OP_ARGUMENTS_MAX])
{
	uint32_t len = 0;

	while (len < OP_ARGUMENTS_MAX) {
		text += strspn(text, " ");
		if (!*text || !argument_at(&text, machine, &ret[len]))
			break;
		len++;
	}
	return len;
}
