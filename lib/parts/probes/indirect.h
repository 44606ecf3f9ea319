/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indirect functions (STT_GNU_IFUNC), such as strlen(3) of glibc. Their symbol is a
 * resolver, which the dynamic linker calls once, and which returns the address of the
 * implementation for this machine. The resolver's code loads the addresses of all
 * implementations.
 */
#ifndef OP_PARTS_PROBES_INDIRECT_H
#define OP_PARTS_PROBES_INDIRECT_H

#include "code/elf/file.h"
#include "parts/probes/spec.h"

/* The implementations of the indirect function @symbol: addresses in the resolver's
 * code at which a function of the file begins, by its unwind tables. Returns 0;
 * -EADDRNOTAVAIL if none is found; -E2BIG; or -errno of reading. */
int op_probe_indirect(struct op_elf *elf, const struct op_elf_symbol *symbol,
		      struct op_probe_place *ret);

#endif
