/* SPDX-License-Identifier: Apache-2.0 */
/* .eh_frame_hdr (LSB 5.0, section 10.6.2), found by its segment PT_GNU_EH_FRAME: where
 * .eh_frame is, and a table of its FDEs in ascending order for binary search. */
#ifndef OP_DWARF_EH_HDR_H
#define OP_DWARF_EH_HDR_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/file.h"

enum {
	OP_EH_HDR_ENTRY_BYTES = 8, /* of the table: two of 4 bytes, from `addr` on */
};

struct op_eh_hdr {
	uint64_t addr;	/* ELF address of the header */
	uint64_t frame; /* of .eh_frame */
	uint64_t table; /* offset of the table in the file */
	uint64_t count; /* its entries; 0: it has none, or none that is read here */
};

/* Returns false where there is none that says where .eh_frame is. */
bool op_eh_hdr_read(struct op_elf *elf, struct op_eh_hdr *ret);
/* The part of the file from .eh_frame on to the end of its PT_LOAD. Returns false where
 * there is none. */
bool op_eh_hdr_find_frame(struct op_elf *elf, const struct op_eh_hdr *hdr,
			  uint64_t *ret_offset, uint64_t *ret_size);

/* The last entry of the table that does not begin above @vaddr: where its function begins,
 * and the ELF address of its FDE. Returns 1, 0: none, or -errno of reading. */
int op_eh_hdr_find(struct op_elf *elf, const struct op_eh_hdr *hdr, uint64_t vaddr,
		   uint64_t *ret_start, uint64_t *ret_fde);

/*
 * The addresses of the function that holds @vaddr, as its FDE says; where that is written
 * in a way not read here, up to the next FDE. Returns 1, 0: none, or -errno of reading.
 */
int op_eh_hdr_function(struct op_elf *elf, uint64_t vaddr, uint64_t *ret_start,
		       uint64_t *ret_end);

#endif
