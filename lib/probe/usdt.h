/* SPDX-License-Identifier: Apache-2.0 */
/* Static probes (USDT) of a file, and offsets in it. */
#ifndef OP_PROBE_USDT_H
#define OP_PROBE_USDT_H

#include "elf/file.h"
#include "probe/spec.h"

/* Where the probe @spec stands in @elf. 0; -ENOENT: nowhere; -errno of reading. */
int op_probe_usdt_find(struct op_elf *elf, const struct op_probe_spec *spec,
		       struct op_probe_place *ret);
/* The file offset of ELF address @vaddr. 0 or -ENOENT. */
int op_probe_offset(struct op_elf *elf, uint64_t vaddr, uint64_t *ret);

#endif
