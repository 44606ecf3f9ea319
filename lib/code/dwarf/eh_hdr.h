/* SPDX-License-Identifier: Apache-2.0 */
/* Reads .eh_frame_hdr (LSB 5.0, section 10.6.2), which the segment PT_GNU_EH_FRAME
 * locates: the address of .eh_frame, and a sorted table of its FDEs for binary search. */
#ifndef OP_CODE_DWARF_EH_HDR_H
#define OP_CODE_DWARF_EH_HDR_H

#include <stdbool.h>
#include <stdint.h>

#include "code/elf/file.h"

enum {
	/* bytes of an entry: two offsets of 4 bytes, relative to `addr` */
	OP_EH_HDR_ENTRY_BYTES = 8,
};

struct op_eh_hdr {
	uint64_t addr;	/* ELF address of the header */
	uint64_t frame; /* ELF address of .eh_frame */
	uint64_t table; /* offset of the table in the file */
	uint64_t count; /* number of entries; 0: no table, or one of another form */
};

/* Returns false if there is no header that locates .eh_frame. */
bool op_eh_hdr_read(struct op_elf *elf, struct op_eh_hdr *ret);
/* The part of the file from .eh_frame to the end of its PT_LOAD. Returns false if there
 * is none. */
bool op_eh_hdr_find_frame(struct op_elf *elf, const struct op_eh_hdr *hdr,
			  uint64_t *ret_offset, uint64_t *ret_size);

/*
 * Find the last entry of the table that begins at or below @vaddr: the start of its
 * function, and the ELF address of its FDE. Returns 1; 0 if there is none; or -errno of
 * reading.
 */
int op_eh_hdr_find(struct op_elf *elf, const struct op_eh_hdr *hdr, uint64_t vaddr,
		   uint64_t *ret_start, uint64_t *ret_fde);

/* Give each entry from the last that begins at or below @start on, up to the first that begins
 * at @end or later, to @fn, whose value other than 0 ends it. Returns that, 0, or -errno of
 * reading. */
int op_eh_hdr_each(struct op_elf *elf, const struct op_eh_hdr *hdr, uint64_t start,
		   uint64_t end, int (*fn)(void *data, uint64_t start, uint64_t fde),
		   void *data);

/*
 * The address range of the function that holds @vaddr, from its FDE; if that FDE has
 * another form, up to the next FDE. Returns 1; 0 if there is none; or -errno of reading.
 */
int op_eh_hdr_function(struct op_elf *elf, uint64_t vaddr, uint64_t *ret_start,
		       uint64_t *ret_end);

#endif
