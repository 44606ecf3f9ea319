/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The procedure linkage table of aarch64, for which linkers write no frame information. An
 * entry is four to six instructions that jump and touch neither sp nor lr. The first one,
 * which calls the dynamic linker, pushes x16 and lr.
 */
#include <elf.h>

#include "unwind/source.h"

enum {
	INSTRUCTION = 4,
	FIRST_BYTES = 32,	 /* of the first entry, by all linkers */
	PUSHED_BYTES = 16,	 /* by it */
	LR_AT = -8,		 /* from the frame's end */
	PLT_BYTES_MAX = 1 << 24, /* a million entries */
};

static const uint32_t bti_c = 0xd503245f;
static const uint32_t push_x16_x30 = 0xa9bf7bf0; /* stp x16, x30, [sp, #-16]! */

bool op_source_plt_find(struct op_elf *elf, struct op_source_plt *ret)
{
	const struct op_elf_section *section = op_elf_section(elf, ".plt");
	uint32_t code[2]; /* little-endian, as this library's hosts are */

	if (op_elf_machine(elf) != EM_AARCH64 || !section ||
	    !(section->flags & SHF_EXECINSTR) || section->size < sizeof(code) ||
	    section->size > PLT_BYTES_MAX || section->addr > UINT64_MAX - section->size ||
	    op_elf_read_vaddr(elf, section->addr, code, sizeof(code)) < 0)
		return false;
	*ret = (struct op_source_plt){ .start = section->addr,
				       .end = section->addr + section->size };
	if (section->size < FIRST_BYTES)
		return true;
	/* A static program's table has no first entry. */
	if (code[0] == push_x16_x30)
		ret->pushed = ret->start + INSTRUCTION;
	else if (code[0] == bti_c && code[1] == push_x16_x30)
		ret->pushed = ret->start + 2 * INSTRUCTION;
	return true;
}

int op_source_plt_read(const struct op_source_plt *plt, struct op_builder *b)
{
	const struct op_rule leaf = { .cfa = OP_CFA_SP, .save = OP_SAVE_NONE };
	const struct op_rule pushed = { .cfa = OP_CFA_SP,
					.cfa_off = PUSHED_BYTES,
					.save = OP_SAVE_RA,
					.save_off = LR_AT };
	int r = op_builder_function(b, plt->start, plt->end);

	if (r <= 0)
		return r;
	r = op_builder_row(b, plt->start, leaf);
	if (r >= 0 && plt->pushed)
		r = op_builder_row(b, plt->pushed, pushed);
	if (r >= 0 && plt->pushed)
		r = op_builder_row(b, plt->start + FIRST_BYTES, leaf);
	return r;
}
