/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the file offset of a symbol. */
#include <elf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "code/elf/file.h"
#include "code/elf/gopclntab.h"
#include "parts/probes/indirect.h"
#include "parts/probes/spec.h"
#include "parts/probes/usdt.h"

static bool is_of_go(struct op_elf *elf)
{
	_cleanup_(op_gopclntab_freep) struct op_gopclntab *table = NULL;

	int r = op_gopclntab_open(elf, &table);

	return r == 0 || r == -ENOTSUP || r == -EBADMSG;
}

int op_probe_place_in(struct op_elf *elf, const struct op_probe_spec *spec,
		      struct op_probe_place *ret)
{
	struct op_elf_symbol symbol;
	int r;

	if (spec->type == OP_PROBE_STATIC)
		return op_probe_usdt_find(elf, spec, ret);
	/* Go moves its stacks, and ends the program if it finds a return address
	 * outside of the functions that it knows. */
	if (spec->is_return && is_of_go(elf))
		return -OP_PROBE_NO_RETURN;
	r = op_elf_find_symbol(elf, spec->symbol, &symbol);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	if (symbol.type == STT_GNU_IFUNC)
		return spec->offset ? -EADDRNOTAVAIL
				    : op_probe_indirect(elf, &symbol, ret);
	*ret = (struct op_probe_place){ .sites_len = 1 };
	return op_probe_offset(elf, symbol.value + spec->offset, &ret->site[0]);
}

int op_probe_place_find(const struct op_probe_spec *spec, struct op_probe_place *ret)
{
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	int r = op_elf_open_path(spec->file, &elf);

	return r < 0 ? r : op_probe_place_in(elf, spec, ret);
}
