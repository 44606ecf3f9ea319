/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A section read through windows: a few pieces of it are held, the least recently used
 * one makes room. A window that is read on from its end grows, so that linear readers
 * make few system calls and random ones copy little.
 */
#ifndef OP_DWARF_SECTION_H
#define OP_DWARF_SECTION_H

#include <stddef.h>
#include <stdint.h>

#include "elf/file.h"

enum {
	OP_DWARF_WINDOWS = 16,
	OP_DWARF_WINDOW_MIN = 4096,
	OP_DWARF_WINDOW_MAX = 65536, /* also the longest piece that can be had */
};

struct op_dwarf_window {
	uint8_t *bytes;
	uint64_t start;
	size_t len;
	size_t cap;
	uint32_t used; /* clock of the last use */
};

struct op_dwarf_section {
	struct op_elf *elf;   /* borrowed; NULL: `bytes` is all of it */
	const uint8_t *bytes; /* borrowed */
	void *owned;	      /* released with the section */
	uint64_t offset;      /* in the file */
	uint64_t size;
	uint64_t addr; /* ELF address */
	uint32_t clock;
	struct op_dwarf_window *last;
	struct op_dwarf_window windows[OP_DWARF_WINDOWS];
};

/* Section @name of @elf, borrowed. Returns 1; 0 where there is none with content; or
 * -errno. A compressed one is held whole, if it has at most @limit bytes. */
int op_dwarf_section_init(struct op_dwarf_section *s, struct op_elf *elf,
			  const char *name, size_t limit);
/* [@offset, @offset + @size) of the file, at ELF address @addr. */
void op_dwarf_section_init_range(struct op_dwarf_section *s, struct op_elf *elf,
				 uint64_t offset, uint64_t size, uint64_t addr);
/* Bytes in memory. Borrows until op_dwarf_section_deinit(). */
void op_dwarf_section_init_bytes(struct op_dwarf_section *s, const void *bytes,
				 size_t len, uint64_t addr);
void op_dwarf_section_deinit(struct op_dwarf_section *s);

/* op_dwarf_section_at() where the last window has not got it. */
int op_dwarf_section_load(struct op_dwarf_section *s, uint64_t off, size_t len,
			  const uint8_t **ret);

/*
 * @len bytes at @off, valid until the next call. Returns 0; -EBADMSG outside of the
 * section; -E2BIG for more than OP_DWARF_WINDOW_MAX; -ENOMEM; the errno of reading.
 */
static inline int op_dwarf_section_at(struct op_dwarf_section *s, uint64_t off,
				      size_t len, const uint8_t **ret)
{
	const struct op_dwarf_window *w = s->last;

	if (w && off >= w->start && off - w->start <= w->len &&
	    len <= w->len - (off - w->start)) {
		*ret = w->bytes + (off - w->start);
		return 0;
	}
	return op_dwarf_section_load(s, off, len, ret);
}

#endif
