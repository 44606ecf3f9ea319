/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of aarch64's vDSO, which has little frame information or none. */
#include "table_rig.h"

enum {
	NOP = 0xd503201f,
	RET = 0xd65f03c0,
	PUSH_128 = 0xa9b87bfd, /* stp x29, x30, [sp, #-128]! */
	POP_128 = 0xa8c87bfd,
	SET_FP = 0x910003fd,
	CALL_LAST = 0x94000006, /* bl, six instructions on */
};

static const struct op_unwind_rule LEAF = { .cfa = OP_CFA_SP };
static const struct op_unwind_rule PUSHED = {
	.cfa = OP_CFA_SP, .cfa_off = 128, .save = OP_SAVE_PAIR, .save_off = -128
};
static const struct op_unwind_rule BODY = {
	.cfa = OP_CFA_FP, .cfa_off = 128, .save = OP_SAVE_PAIR, .save_off = -128
};
static const struct op_unwind_rule SIGNAL = { .cfa = OP_CFA_SIGNAL };

/* The code, and the rule that holds at each instruction. */
static const struct {
	uint32_t word;
	const struct op_unwind_rule *rule;
} LINES[] = {
	/* a function without a frame */
	{ NOP, &LEAF },
	{ NOP, &LEAF },
	{ RET, &LEAF },
	/* what stands in front of the signal's code is free */
	{ NOP, &LEAF },
	{ NOP, NULL },
	{ 0xd2801168, &SIGNAL },
	{ 0xd4000001, &SIGNAL },
	{ NOP, &SIGNAL },
	/* a function with a frame, which ends at two places */
	{ NOP, &LEAF },
	{ PUSH_128, &LEAF },
	{ SET_FP, &PUSHED },
	{ CALL_LAST, &BODY },
	{ POP_128, &BODY },
	{ RET, &LEAF },
	{ POP_128, &BODY },
	{ RET, &LEAF },
	{ NOP, &BODY },
	/* what it calls */
	{ NOP, &LEAF },
	{ RET, &LEAF },
};

enum {
	SIGNAL_AT = 5, /* instructions */
	FUNCTION_AT = 8,
	CODE_LEN = OP_ARRAY_SIZE(LINES),
};

static uint64_t text; /* ELF address */

/* A vDSO, with frame information of its first function or without; @change: its signal's
 * code is another one. */
static void setup(uint16_t machine, bool has_cfi, bool change)
{
	struct builder_symbol symbols[2] = { 0 };
	struct bytes eh = { 0 };
	uint32_t code[CODE_LEN];
	size_t i;

	for (i = 0; i < CODE_LEN; i++)
		code[i] = LINES[i].word;
	if (change)
		code[SIGNAL_AT] = NOP;

	rig_begin(machine);
	text = rig_next_address();
	builder_section(&rig.b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code,
			sizeof(code));
	symbols[0] = (struct builder_symbol){ .name = "__kernel_rt_sigreturn",
					      .value = text + SIGNAL_AT * 4,
					      .bind = STB_GLOBAL,
					      .shndx = 1 };
	symbols[1] = (struct builder_symbol){ .name = "__kernel_getrandom",
					      .value = text + FUNCTION_AT * 4,
					      .bind = STB_GLOBAL,
					      .type = STT_FUNC,
					      .shndx = 1 };
	builder_symbols(&rig.b, true, symbols, 2);
	if (has_cfi) {
		eh.addr = rig_next_address();
		PUT_FDE(&eh, put_cie(&eh, "zR", 0x1b, 30, ARM_CIE, sizeof(ARM_CIE)), text,
			12, 0);
		builder_section(&rig.b, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, eh.data,
				eh.len);
		free(eh.data);
	}
	rig_finish();
}

static void check_rule(uint64_t at, const struct op_unwind_rule *want)
{
	struct op_unwind_rule rule = rig_rule(text + at);

	if (memcmp(&rule, want, sizeof(rule)) != 0)
		TEST_FAIL("at %" PRIx64 ": cfa %u %d, save %u %d", at, rule.cfa,
			  rule.cfa_off, rule.save, rule.save_off);
}

static void test_no_frame_information(void)
{
	size_t i;

	setup(EM_AARCH64, false, false);
	for (i = 0; i < CODE_LEN; i++)
		if (LINES[i].rule)
			check_rule(i * 4, LINES[i].rule);
	/* A handler's return address is looked up a byte early. */
	check_rule(SIGNAL_AT * 4 - 1, &SIGNAL);
	rig_end();
}

static void test_frame_information_but_for_the_signal(void)
{
	setup(EM_AARCH64, true, false);
	check_rule(0, &LEAF);
	check_rule(SIGNAL_AT * 4, &SIGNAL);
	check_rule(SIGNAL_AT * 4 - 1, &SIGNAL);
	rig_end();
}

static void test_what_is_not_it(void)
{
	const struct op_unwind_rule none = { 0 };

	setup(EM_AARCH64, false, true);
	check_rule(SIGNAL_AT * 4, &none);
	rig_end();
	setup(EM_X86_64, false, false);
	check_rule(SIGNAL_AT * 4, &none);
	rig_end();
}

TEST_MAIN({ "none", test_no_frame_information },
	  { "signal", test_frame_information_but_for_the_signal },
	  { "others", test_what_is_not_it })
