/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indirect functions (STT_GNU_IFUNC), such as strlen(3) of glibc: the symbol is that of a resolver,
 * which the dynamic linker calls once, and which returns the address of the implementation for this
 * machine. Its code loads the addresses of all of them.
 */
#ifndef OP_PARTS_PROBES_INDIRECT_H
#define OP_PARTS_PROBES_INDIRECT_H

#include "code/elf/file.h"
#include "parts/probes/spec.h"

/* The implementations of the indirect function @symbol: functions of the file, by its unwind
 * tables, whose addresses the resolver's code loads. Returns 0; -EADDRNOTAVAIL if none is found;
 * -E2BIG; or -errno of reading. */
int op_probe_indirect(struct op_elf *elf, const struct op_elf_symbol *symbol,
		      struct op_probe_place *ret);

#endif
