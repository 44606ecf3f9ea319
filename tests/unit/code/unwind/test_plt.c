/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of procedure linkage tables that have no frame information. */
#include "table_rig.h"

enum {
	FIRST_BYTES = 32,
	ENTRY_BYTES = 16,
	ENTRIES = 3,
	PLT_BYTES = FIRST_BYTES + ENTRIES * ENTRY_BYTES,
	TEXT_BYTES = 0x100,
};

static const uint32_t PLAIN[] = { 0xa9bf7bf0, 0xb0000190, 0xf947fe11, 0x913fe210 };
static const uint32_t WITH_BTI[] = { 0xd503245f, 0xa9bf7bf0, 0xb0000190, 0xf947fe11 };
static const uint32_t ENTRY[] = { 0xb0000190, 0xf947fe11, 0x913fe210, 0xd61f0220 };

static uint64_t plt; /* ELF addresses */
static uint64_t text;

/* A file with a .plt that begins with @first, or is all of that where @size is 0; and one
 * function behind it. */
static void setup(uint16_t machine, const uint32_t *first, uint64_t flags, size_t size)
{
	uint32_t code[PLT_BYTES / 4];
	struct bytes eh = { 0 };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(code); i++)
		code[i] = ENTRY[i % OP_ARRAY_SIZE(ENTRY)];
	memcpy(code, first, size ? OP_ARRAY_SIZE(PLAIN) * sizeof(*first) : sizeof(code));
	rig_begin(machine);
	plt = rig_next_address();
	builder_section(&rig.b, ".plt", SHT_PROGBITS, flags, code,
			size ? size : sizeof(code));
	text = rig_next_address();
	builder_section(&rig.b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, NULL,
			TEXT_BYTES);
	eh.addr = rig_next_address();
	PUT_FDE(&eh, put_cie(&eh, "zR", 0x1b, 30, ARM_CIE, sizeof(ARM_CIE)), text, 0x40,
		0x44, 0x0e, 16);
	builder_section(&rig.b, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, eh.data, eh.len);
	free(eh.data);
	rig_finish();
}

static void check_leaf(uint64_t at)
{
	struct op_unwind_rule rule = rig_rule(at);

	CHECK_INT(rule.cfa, OP_CFA_SP);
	CHECK_INT(rule.cfa_off, 0);
	CHECK_INT(rule.save, OP_SAVE_NONE);
}

static void check_first(const uint32_t *first, unsigned int before)
{
	unsigned int at;

	setup(EM_AARCH64, first, SHF_ALLOC | SHF_EXECINSTR, PLT_BYTES);
	for (at = 0; at < PLT_BYTES; at += 4) {
		struct op_unwind_rule rule = rig_rule(plt + at);

		if (at < before || at >= FIRST_BYTES) {
			check_leaf(plt + at);
			continue;
		}
		CHECK_INT(rule.cfa, OP_CFA_SP);
		CHECK_INT(rule.cfa_off, 16);
		CHECK_INT(rule.save, OP_SAVE_RA);
		CHECK_INT(rule.save_off, -8);
	}
	CHECK_INT(rig_rule(text + 4).cfa_off, 16);
	rig_end();
}

static void test_entries(void)
{
	check_first(PLAIN, 4);
	check_first(WITH_BTI, 8);
	check_first(ENTRY, PLT_BYTES); /* of a static program */
}

static void test_cut_short(void)
{
	setup(EM_AARCH64, PLAIN, SHF_ALLOC | SHF_EXECINSTR, 16);
	check_leaf(plt + 4);
	rig_end();
	setup(EM_AARCH64, PLAIN, SHF_ALLOC | SHF_EXECINSTR, 4);
	CHECK_INT(rig_rule(plt).cfa, OP_CFA_INVALID);
	rig_end();
}

/* As lld writes it: the first entry pushes a word, each other its number. */
static void check_x86(const uint8_t *entry, uint32_t pushed)
{
	uint8_t code[PLT_BYTES] = {
		0xff, 0x35, 0x02, 0x30, 0, 0, 0xff, 0x25, 0x04, 0x30
	};
	unsigned int at;

	for (at = ENTRY_BYTES; at < PLT_BYTES; at += ENTRY_BYTES)
		memcpy(code + at, entry, ENTRY_BYTES);
	setup(EM_X86_64, (const uint32_t *)(const void *)code, SHF_ALLOC | SHF_EXECINSTR,
	      0);
	for (at = 0; at < PLT_BYTES; at++) {
		struct op_unwind_rule rule = rig_rule(plt + at);
		int32_t want = at < 6 ? 16 : 24;

		if (at >= ENTRY_BYTES) {
			CHECK_INT(rule.cfa, OP_CFA_PLT);
			CHECK_INT(rule.cfa_off, pushed);
			continue;
		}
		CHECK_INT(rule.cfa, OP_CFA_SP);
		CHECK_INT(rule.cfa_off, want);
		CHECK_INT(rule.save, OP_SAVE_NONE);
	}
	rig_end();
}

static void test_x86(void)
{
	static const uint8_t plain[ENTRY_BYTES] = { 0xff, 0x25, 2, 0,	 0, 0, 0x68, 0,
						    0,	  0,	0, 0xe9, 0, 0, 0,    0 };
	static const uint8_t ibt[ENTRY_BYTES] = {
		0xf3, 0x0f, 0x1e, 0xfa, 0x68, 0, 0, 0, 0, 0xf2, 0xe9, 0, 0, 0, 0, 0x90
	};

	check_x86(plain, 11);
	check_x86(ibt, 9);
}

static void test_not_of_others(void)
{
	setup(EM_AARCH64, PLAIN, SHF_ALLOC, PLT_BYTES);
	CHECK_INT(rig_rule(plt + 4).cfa, OP_CFA_INVALID);
	rig_end();
}

TEST_MAIN({ "entries", test_entries }, { "cut", test_cut_short }, { "x86", test_x86 },
	  { "others", test_not_of_others })
