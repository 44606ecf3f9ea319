/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of static probes, as assemblers write them. Offsets are those of struct pt_regs in
 * asm/ptrace.h. */
#include <elf.h>
#include <stddef.h>
#include <string.h>
#if defined(__x86_64__)
#include <asm/ptrace.h>
#endif

#include "parts/probes/argument.h"
#include "test.h"

static struct op_argument a[OP_ARGUMENTS_MAX];

static void check(uint32_t i, uint32_t place, uint32_t reg, int64_t offset,
		  uint32_t bytes, bool is_signed)
{
	CHECK_INT(a[i].place, place);
	if (place != OP_ARGUMENT_CONSTANT)
		CHECK_INT(a[i].reg, reg);
	CHECK_INT(a[i].offset, offset);
	CHECK_INT(a[i].bytes, bytes);
	CHECK_INT(a[i].is_signed, is_signed);
}

static void test_x86_64(void)
{
	CHECK_INT(op_probe_arguments_parse("8@%rdi -4@%eax 1@%r15b", EM_X86_64, a), 3);
	check(0, OP_ARGUMENT_REGISTER, 14 * 8, 0, 8, false);
	check(1, OP_ARGUMENT_REGISTER, 10 * 8, 0, 4, true);
	check(2, OP_ARGUMENT_REGISTER, 0, 0, 1, false);
	CHECK_INT(op_probe_arguments_parse("-8@$-5 8@-16(%rbp) 4@(%rsp)", EM_X86_64, a),
		  3);
	check(0, OP_ARGUMENT_CONSTANT, 0, -5, 8, true);
	check(1, OP_ARGUMENT_MEMORY, 4 * 8, -16, 8, false);
	check(2, OP_ARGUMENT_MEMORY, 19 * 8, 0, 4, false);
#if defined(__x86_64__)
	CHECK_INT(offsetof(struct pt_regs, rdi), 14 * 8);
	CHECK_INT(offsetof(struct pt_regs, rax), 10 * 8);
	CHECK_INT(offsetof(struct pt_regs, rbp), 4 * 8);
	CHECK_INT(offsetof(struct pt_regs, rsp), 19 * 8);
#endif
}

static void test_aarch64(void)
{
	CHECK_INT(op_probe_arguments_parse("8@x0 -4@w19 8@[sp, 16]", EM_AARCH64, a), 3);
	check(0, OP_ARGUMENT_REGISTER, 0, 0, 8, false);
	check(1, OP_ARGUMENT_REGISTER, 19 * 8, 0, 4, true);
	check(2, OP_ARGUMENT_MEMORY, 31 * 8, 16, 8, false);
	CHECK_INT(op_probe_arguments_parse("-8@-7 8@[x3] 8@[x30,#-8]", EM_AARCH64, a), 3);
	check(0, OP_ARGUMENT_CONSTANT, 0, -7, 8, true);
	check(1, OP_ARGUMENT_MEMORY, 3 * 8, 0, 8, false);
	check(2, OP_ARGUMENT_MEMORY, 30 * 8, -8, 8, false);
}

/* Those before what is not understood are there, and it ends the list. */
static void test_not_understood(void)
{
	static const char *const none[] = {
		"",
		" ",
		"8@",
		"8@%",
		"8@%rip",
		"3@%rax",
		"@%rax",
		"8@%raxx",
		"8@$",
		"8@8(%rax,%rbx,4)",
		"8@x(%rip)",
		"8@8(%rax",
		"16@%rax",
		"8@%raxrax",
		"-9223372036854775809@%rax",
		"8@()",
		"8@%rax%rbx",
		"8@$9999999999999999999999",
	};
	size_t i;

	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (op_probe_arguments_parse(none[i], EM_X86_64, a))
			TEST_FAIL("\"%s\" is taken", none[i]);
	CHECK_INT(op_probe_arguments_parse("8@%rdi 8@sym 8@%rdx", EM_X86_64, a), 1);
	CHECK_INT(op_probe_arguments_parse("8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8 8@%r9 "
					   "8@%rax 8@%rbx 8@%r10 8@%r11 8@%r12 8@%r13 "
					   "8@%r14",
					   EM_X86_64, a),
		  OP_ARGUMENTS_MAX);
	CHECK_INT(op_probe_arguments_parse("8@x31", EM_AARCH64, a), 0);
	CHECK_INT(op_probe_arguments_parse("8@[x0", EM_AARCH64, a), 0);
	CHECK_INT(op_probe_arguments_parse("8@[x0, y]", EM_AARCH64, a), 0);
}

TEST_MAIN({ "x86_64", test_x86_64 }, { "aarch64", test_aarch64 },
	  { "not_understood", test_not_understood })
