/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of the procedure linkage table, where linkers write no frame information for it:
 * all do so on aarch64, and LLVM's also on x86-64.
 *
 * aarch64: an entry is four to six instructions that jump and touch neither sp nor lr.
 * The first one, which calls the dynamic linker, pushes x16 and lr. x86-64 (System V ABI,
 * 5.2): an entry jumps, or pushes its number and jumps to the first one, which pushes a
 * word more.
 */
#include <elf.h>
#include <string.h>

#include "base/macros.h"
#include "code/unwind/source.h"

enum {
	INSTRUCTION = 4,
	FIRST_BYTES = 32,	 /* size of the first entry, with all linkers */
	PUSHED_BYTES = 16,	 /* bytes that the first entry pushes */
	LR_AT = -8,		 /* offset of the saved lr from the frame's end */
	PLT_BYTES_MAX = 1 << 24, /* a million entries */
	X86_ENTRY = 16,
	X86_FIRST_PUSHED = 6, /* offset in the first entry after its push */
};

static const uint32_t bti_c = 0xd503245f;
static const uint32_t push_x16_x30 = 0xa9bf7bf0; /* stp x16, x30, [sp, #-16]! */

/* Set *@ret from the code of the first two entries. */
static void find_x86(const uint8_t code[2 * X86_ENTRY], struct op_source_plt *ret)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const uint8_t *entry = code + X86_ENTRY;

	ret->x86 = true;
	if (code[0] != 0xff || code[1] != 0x35 || ret->start % X86_ENTRY)
		return; /* entries only jump, and there is no special first entry */
	ret->pushed = ret->start + X86_FIRST_PUSHED;
	if (entry[0] == 0xff && entry[1] == 0x25) /* jmp, push */
		ret->entry_pushed = 11;
	else if (!memcmp(entry, endbr64, sizeof(endbr64)))
		ret->entry_pushed = sizeof(endbr64) + 5;
	else
		ret->entry_pushed = 5;
}

/* Do its entries return to their targets (LLVM's -z retpolineplt)? Then its code is
 * read like that of functions. */
static bool is_retpoline(const uint8_t code[2 * X86_ENTRY])
{
	static const uint8_t load_r11[] = { 0x4c, 0x8b, 0x1d };

	return code[0] == 0xe8 ||
	       !memcmp(code + X86_FIRST_PUSHED, load_r11, sizeof(load_r11));
}

bool op_source_plt_find(struct op_elf *elf, struct op_source_plt *ret)
{
	const struct op_elf_section *section = op_elf_section(elf, ".plt");
	uint32_t code[2]; /* little-endian, as this library's hosts are */
	uint8_t x86[2 * X86_ENTRY] = { 0 };

	if (!section || !(section->flags & SHF_EXECINSTR) ||
	    section->size < sizeof(code) || section->size > PLT_BYTES_MAX ||
	    section->addr > UINT64_MAX - section->size)
		return false;
	if (op_elf_read_vaddr(elf, section->addr, x86,
			      OP_MIN(sizeof(x86), section->size)) < 0)
		return false;
	if (op_elf_machine(elf) == EM_X86_64 && is_retpoline(x86))
		return false;
	memcpy(code, x86, sizeof(code));
	*ret = (struct op_source_plt){ .start = section->addr,
				       .end = section->addr + section->size };
	if (op_elf_machine(elf) == EM_X86_64) {
		find_x86(x86, ret);
		return true;
	}
	if (section->size < FIRST_BYTES)
		return true;
	/* A static program's table has no first entry. */
	if (code[0] == push_x16_x30)
		ret->pushed = ret->start + INSTRUCTION;
	else if (code[0] == bti_c && code[1] == push_x16_x30)
		ret->pushed = ret->start + 2 * INSTRUCTION;
	return true;
}

static struct op_source_plt_rows rows_x86(const struct op_source_plt *plt)
{
	const struct op_unwind_rule entry = { .cfa = OP_CFA_PLT,
					      .cfa_off = plt->entry_pushed };
	const struct op_unwind_rule jump = { .cfa = OP_CFA_SP, .cfa_off = 8 };
	const struct op_unwind_rule first = { .cfa = OP_CFA_SP, .cfa_off = 16 };
	const struct op_unwind_rule pushed = { .cfa = OP_CFA_SP, .cfa_off = 24 };

	if (!plt->pushed)
		return (struct op_source_plt_rows){ 1, { { plt->start, jump } } };
	return (struct op_source_plt_rows){ 3,
					    { { plt->start, first },
					      { plt->pushed, pushed },
					      { plt->start + X86_ENTRY, entry } } };
}

static struct op_source_plt_rows rows_aarch64(const struct op_source_plt *plt)
{
	const struct op_unwind_rule leaf = { .cfa = OP_CFA_SP, .save = OP_SAVE_NONE };
	const struct op_unwind_rule pushed = { .cfa = OP_CFA_SP,
					       .cfa_off = PUSHED_BYTES,
					       .save = OP_SAVE_RA,
					       .save_off = LR_AT };

	return (struct op_source_plt_rows){ plt->pushed ? 3 : 1,
					    { { plt->start, leaf },
					      { plt->pushed, pushed },
					      { plt->start + FIRST_BYTES, leaf } } };
}

struct op_source_plt_rows op_source_plt_rows(const struct op_source_plt *plt)
{
	return plt->x86 ? rows_x86(plt) : rows_aarch64(plt);
}

int op_source_plt_read(const struct op_source_plt *plt, struct op_builder *b)
{
	const struct op_source_plt_rows rows = op_source_plt_rows(plt);
	int r = op_builder_function(b, plt->start, plt->end);
	size_t i;

	if (r <= 0)
		return r;
	for (i = 0, r = 0; i < rows.len && r >= 0; i++)
		r = op_builder_row(b, rows.row[i].pc, rows.row[i].rule);
	return r;
}
