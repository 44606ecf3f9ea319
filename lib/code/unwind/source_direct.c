/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the rule of one address from its FDE, while the table of a large file is being
 * made. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "code/dwarf/cfi.h"
#include "code/unwind/source.h"

enum {
	/* bytes of an FDE's instructions, which are run again for each address */
	PROGRAM_MAX = 4096,
	KNOWN_MAX = 1 << 15, /* addresses; past this number all are forgotten */
};

struct op_source_direct {
	struct op_cfi *cfi;
	op_arch_rule_fn rule;
	uint16_t machine;
	struct op_source_plt plt; /* end 0: there is none */
	struct op_map64 known;	  /* ELF address -> rule */
	uint64_t vaddr;		  /* the address that is looked for */
	struct op_unwind_rule found;
};

int op_source_direct_new(struct op_elf *elf, struct op_source_direct **ret)
{
	_cleanup_(op_source_direct_freep) struct op_source_direct *d = NULL;
	int r;

	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->rule = op_source_rule_fn(elf, false);
	d->machine = op_elf_machine(elf);
	(void)op_source_plt_find(elf, &d->plt);
	r = op_cfi_new(elf, OP_CFI_EH_FRAME, &d->cfi);
	if (r <= 0)
		return r;
	*ret = OP_TAKE_PTR(d);
	return 1;
}

struct op_source_direct *op_source_direct_free(struct op_source_direct *d)
{
	if (!d)
		return NULL;
	op_cfi_free(d->cfi);
	op_map64_clear(&d->known);
	free(d);
	return NULL;
}

static int on_direct_fde(void *data, const struct op_cfi_fde *fde)
{
	struct op_source_direct *d = data;

	d->found = (struct op_unwind_rule){ .cfa = OP_CFA_INVALID };
	return 1;
}

static int on_direct_row(void *data, const struct op_cfi_fde *fde, uint64_t pc,
			 const struct op_cfi_state *state, bool moved)
{
	struct op_source_direct *d = data;

	if (pc > d->vaddr)
		return 0;
	d->found = (struct op_unwind_rule){ .cfa = OP_CFA_INVALID };
	if (state && fde->signal && op_arch_is_signal_frame(d->machine, state))
		d->found.cfa = OP_CFA_SIGNAL;
	else if (state)
		(void)d->rule(state, &d->found);
	return 0;
}

static bool find_plt(struct op_source_direct *d)
{
	const struct op_source_plt_rows rows = op_source_plt_rows(&d->plt);
	size_t i;

	if (d->vaddr < d->plt.start || d->vaddr >= d->plt.end)
		return false;
	for (i = 0; i < rows.len; i++)
		if (rows.row[i].pc <= d->vaddr)
			d->found = rows.row[i].rule;
	return true;
}

int op_source_direct_find(struct op_source_direct *d, uint64_t vaddr,
			  struct op_unwind_rule *ret)
{
	const struct op_cfi_sink sink = { .data = d,
					  .fde = on_direct_fde,
					  .row = on_direct_row };
	uint64_t word;
	int r;

	_Static_assert(sizeof(word) == sizeof(*ret), "a rule is a word");
	if (op_map64_get(&d->known, vaddr, &word)) {
		memcpy(ret, &word, sizeof(*ret));
		return 1;
	}
	d->vaddr = vaddr;
	r = op_cfi_rows_at(d->cfi, vaddr, PROGRAM_MAX, &sink);
	if (r == 0)
		r = find_plt(d);
	if (r <= 0)
		return r;
	*ret = d->found;
	memcpy(&word, ret, sizeof(word));
	if (d->known.len >= KNOWN_MAX)
		op_map64_clear(&d->known);
	(void)op_map64_put(&d->known, vaddr, word);
	return 1;
}
