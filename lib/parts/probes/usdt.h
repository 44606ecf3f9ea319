/* SPDX-License-Identifier: Apache-2.0 */
/* Finds static probes (USDT) in a file, and file offsets of addresses. */
#ifndef OP_PARTS_PROBES_USDT_H
#define OP_PARTS_PROBES_USDT_H

#include "code/elf/file.h"
#include "parts/probes/spec.h"

/* Find the sites of the probe @spec in @elf. Returns 0, -ENOENT, or -errno of reading. */
int op_probe_usdt_find(struct op_elf *elf, const struct op_probe_spec *spec,
		       struct op_probe_place *ret);
/* The file offset of ELF address @vaddr. Returns 0 or -ENOENT. */
int op_probe_offset(struct op_elf *elf, uint64_t vaddr, uint64_t *ret);

#endif
