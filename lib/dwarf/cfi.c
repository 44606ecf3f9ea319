/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/cfi.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "dwarf/entry.h"
#include "dwarf/order.h"

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
	return cfi;
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

struct op_cfi *op_cfi_free(struct op_cfi *cfi)
{
	if (!cfi)
		return NULL;
	op_dwarf_section_deinit(&cfi->section);
	free(cfi);
	return NULL;
}

/* Give the FDE at @off. Returns 0, -EBADMSG or -E2BIG for a bad one, or what ends it. */
static int give_fde(struct op_cfi *cfi, uint64_t off, const struct op_cfi_sink *sink)
{
	struct op_cfi_parsed_fde parsed;
	struct op_cfi_entry entry;
	int r;

	r = op_cfi_read_entry(cfi, off, &entry);
	if (r < 0)
		return r;
	if (entry.empty || entry.is_cie)
		return -EBADMSG;
	r = op_cfi_read_fde(cfi, &entry, &parsed);
	if (r < 0)
		return r;
	if (parsed.fde.start == parsed.fde.end)
		return 0;
	r = sink->fde(sink->data, &parsed.fde);
	if (r <= 0)
		return r;
	return op_cfi_run_fde(cfi, &parsed, sink);
}

int op_cfi_walk(struct op_cfi *cfi, const struct op_cfi_sink *sink,
		struct op_cfi_stats *ret_stats)
{
	_cleanup_(op_cfi_order_deinit) struct op_cfi_order order = { 0 };
	struct op_cfi_stats stats = { 0 };
	uint64_t off;
	int r;

	cfi->bad_cies = 0;
	r = op_cfi_order_init(&order, cfi);
	while (r >= 0 && (r = op_cfi_order_next(&order, &off)) > 0) {
		stats.fdes++;
		r = give_fde(cfi, off, sink);
		if (r == -EBADMSG || r == -E2BIG) {
			stats.bad_fdes++;
			r = 0;
		}
	}
	if (r < 0)
		return r;
	stats.fdes += order.broken;
	stats.bad_fdes += order.broken;
	stats.bad_cies = cfi->bad_cies;
	*ret_stats = stats;
	return 0;
}
