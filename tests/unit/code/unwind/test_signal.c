/* SPDX-License-Identifier: Apache-2.0 */
/* Which frame information of augmentation 'S' stands for the kernel's signal frame. */
#include "code/unwind/source.h"
#include "table_rig.h"

enum {
	TEXT_BYTES = 0x100,
	FRAME_SP = 24, /* CFA offset of the function before */
	ARM_FP = 29,
	ARM_LR = 30,
};

static uint64_t text; /* ELF address */

/* The rule of @at, which is the same whether it is looked up in the table or found alone. */
static struct op_unwind_rule rule_of(struct op_source_direct *direct, uint64_t at)
{
	struct op_unwind_rule rule = rig_rule(text + at);
	struct op_unwind_rule alone = { 0 };

	if (op_source_direct_find(direct, text + at, &alone) > 0)
		CHECK(!memcmp(&rule, &alone, sizeof(rule)));
	return rule;
}

static void check_rule(struct op_source_direct *direct, uint64_t at, uint32_t cfa,
		       int32_t cfa_off)
{
	struct op_unwind_rule rule = rule_of(direct, at);

	CHECK_INT(rule.cfa, cfa);
	CHECK_INT(rule.cfa_off, cfa_off);
}

static struct op_source_direct *setup(uint16_t machine, struct bytes *eh)
{
	struct op_source_direct *direct = NULL;

	builder_section(&rig.b, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, eh->data, eh->len);
	free(eh->data);
	rig_finish();
	CHECK_OK(op_source_direct_new(rig.elf, &direct));
	return direct;
}

static void begin(uint16_t machine, struct bytes *eh)
{
	rig_begin(machine);
	text = rig_next_address();
	builder_section(&rig.b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, NULL,
			TEXT_BYTES);
	*eh = (struct bytes){ .addr = rig_next_address() };
}

/* OCaml's runtime has 'S' where it changes stacks, with rows of its own. */
static void test_rows_of_their_own(void)
{
	struct op_source_direct *direct;
	struct bytes eh;
	size_t cie;
	size_t signal;

	begin(EM_X86_64, &eh);
	cie = put_x86_cie(&eh);
	signal = put_cie(&eh, "zRS", 0x1b, 16, X86_CIE, sizeof(X86_CIE));
	PUT_FDE(&eh, cie, text, 0x10, 0x0e, FRAME_SP);
	/* CFA = *(rsp + 8) + 16 from the fifth byte on */
	PUT_FDE(&eh, signal, text + 0x20, 0x20, 0x44, 0x0f, 5, 0x77, 8, 0x06, 0x23, 16);
	/* the CFA alone, the return address alone */
	PUT_FDE(&eh, signal, text + 0x50, 0x10, 0x0f, 4, 0x77, 0xa0, 0x01, 0x06);
	PUT_FDE(&eh, signal, text + 0x60, 0x10, 0x10, 16, 3, 0x77, 0xa8, 0x01);
	PUT_FDE(&eh, signal, text + 0x80, 0x10, SIGNAL_FRAME);
	PUT_FDE(&eh, signal, text + 0x90, 0x10, 0x3f); /* it cannot be read */
	direct = setup(EM_X86_64, &eh);
	check_rule(direct, 0xf, OP_CFA_SP, FRAME_SP);
	check_rule(direct, 0x1f, OP_CFA_INVALID, 0); /* the byte before it is not its */
	check_rule(direct, 0x20, OP_CFA_SP, 8);
	check_rule(direct, 0x24, OP_CFA_DEREF_SP, 16 << 16 | 8);
	check_rule(direct, 0x3f, OP_CFA_DEREF_SP, 16 << 16 | 8);
	check_rule(direct, 0x50, OP_CFA_DEREF_SP, 160);
	check_rule(direct, 0x60, OP_CFA_INVALID, 0);
	check_rule(direct, 0x7f, OP_CFA_SIGNAL, 0);
	check_rule(direct, 0x8f, OP_CFA_SIGNAL, 0);
	check_rule(direct, 0x90, OP_CFA_INVALID, 0);
	op_source_direct_free(direct);
	rig_end();
}

/* Old kernels' vDSO says that the frame record at x29 leads to what was interrupted. */
static void test_aarch64(void)
{
	struct op_source_direct *direct;
	struct bytes eh;
	size_t signal;

	begin(EM_AARCH64, &eh);
	signal = put_cie(&eh, "zRS", 0x1b, ARM_LR, ARM_CIE, sizeof(ARM_CIE));
	PUT_FDE(&eh, signal, text + 0x10, 8, 0x0c, ARM_FP, 0, 0x80 | ARM_FP, 0, 0x11,
		ARM_LR, 0x7f);
	PUT_FDE(&eh, signal, text + 0x80, 8, 0x0e, 16, 0x80 | ARM_FP, 2, 0x80 | ARM_LR,
		1);
	direct = setup(EM_AARCH64, &eh);
	check_rule(direct, 0xf, OP_CFA_SIGNAL, 0);
	check_rule(direct, 0x14, OP_CFA_SIGNAL, 0);
	check_rule(direct, 0x7f, OP_CFA_INVALID, 0);
	check_rule(direct, 0x84, OP_CFA_SP, 16);
	op_source_direct_free(direct);
	rig_end();
}

TEST_MAIN({ "rows", test_rows_of_their_own }, { "aarch64", test_aarch64 })
