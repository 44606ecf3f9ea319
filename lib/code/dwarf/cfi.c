/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the call frame information of a file, by section or by segment. */
#include "code/dwarf/cfi.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "code/dwarf/eh_hdr.h"
#include "code/dwarf/entry.h"

enum {
	/* DWARF register numbers of the two ABIs */
	X86_64_FP = 6,
	X86_64_SP = 7,
	AARCH64_FP = 29,
	AARCH64_SP = 31,
};

static struct op_cfi *new_cfi(enum op_cfi_kind kind, uint16_t machine)
{
	struct op_cfi *cfi = calloc(1, sizeof(*cfi));

	if (!cfi)
		return NULL;
	cfi->kind = kind;
	cfi->fp_reg = machine == EM_AARCH64 ? AARCH64_FP : X86_64_FP;
	cfi->sp_reg = machine == EM_AARCH64 ? AARCH64_SP : X86_64_SP;
	cfi->kept_reg = cfi->fp_reg;
	return cfi;
}

/* Find .eh_frame by its segment: it ends at a terminator, or at the end of what is
 * loaded. */
static int init_by_segment(struct op_cfi *cfi, struct op_elf *elf)
{
	struct op_eh_hdr hdr;
	uint64_t offset;
	uint64_t size;

	if (!op_eh_hdr_read(elf, &hdr) ||
	    !op_eh_hdr_find_frame(elf, &hdr, &offset, &size))
		return 0;
	op_dwarf_section_init_range(&cfi->section, elf, offset, size, hdr.frame);
	cfi->has_terminator = true;
	return 1;
}

int op_cfi_new(struct op_elf *elf, enum op_cfi_kind kind, struct op_cfi **ret)
{
	_cleanup_(op_cfi_freep) struct op_cfi *cfi = NULL;
	int r;

	cfi = new_cfi(kind, op_elf_machine(elf));
	if (!cfi)
		return -ENOMEM;
	r = op_dwarf_section_init(&cfi->section, elf,
				  kind == OP_CFI_EH_FRAME ? ".eh_frame" : ".debug_frame",
				  OP_CFI_INFLATED_MAX);
	if (r == 0 && kind == OP_CFI_EH_FRAME && !op_elf_section(elf, ".eh_frame"))
		r = init_by_segment(cfi, elf);
	if (r <= 0)
		return r;
	cfi->elf = elf;
	*ret = OP_TAKE_PTR(cfi);
	return 1;
}

int op_cfi_new_bytes(const void *bytes, size_t len, uint64_t addr, enum op_cfi_kind kind,
		     uint16_t machine, struct op_cfi **ret)
{
	struct op_cfi *cfi = new_cfi(kind, machine);

	if (!cfi)
		return -ENOMEM;
	op_dwarf_section_init_bytes(&cfi->section, bytes, len, addr);
	*ret = cfi;
	return 1;
}

void op_cfi_keep(struct op_cfi *cfi, uint16_t reg)
{
	cfi->kept_reg = reg;
}

struct op_cfi *op_cfi_free(struct op_cfi *cfi)
{
	if (!cfi)
		return NULL;
	op_dwarf_section_deinit(&cfi->section);
	free(cfi);
	return NULL;
}
