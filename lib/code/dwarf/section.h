/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a section through windows: a few pieces are held, and the least recently used one
 * is replaced. A window that is extended from its end grows, so that sequential readers
 * make few system calls and random readers copy little.
 */
#ifndef OP_CODE_DWARF_SECTION_H
#define OP_CODE_DWARF_SECTION_H

#include <stddef.h>
#include <stdint.h>

#include "code/elf/file.h"

enum {
	OP_DWARF_WINDOWS = 16,
	OP_DWARF_WINDOW_MIN = 4096,
	OP_DWARF_WINDOW_MAX = 65536, /* also the longest piece that a caller can get */
};

struct op_dwarf_window {
	uint8_t *bytes;
	uint64_t start;
	size_t len;
	size_t cap;
	uint32_t used; /* clock of the last use */
};

struct op_dwarf_section {
	struct op_elf *elf;   /* borrowed; NULL: `bytes` is the whole section */
	const uint8_t *bytes; /* borrowed */
	void *owned;	      /* memory to free with the section */
	uint64_t offset;      /* in the file */
	uint64_t size;
	uint64_t addr; /* ELF address */
	uint32_t clock;
	struct op_dwarf_window *last;
	struct op_dwarf_window windows[OP_DWARF_WINDOWS];
};

/*
 * Open section @name of @elf, which is borrowed. Returns 1; 0 if there is none with
 * content; or -errno. A compressed section is inflated as a whole if it has at most
 * @limit bytes.
 */
int op_dwarf_section_init(struct op_dwarf_section *s, struct op_elf *elf,
			  const char *name, size_t limit);
/* Open the range [@offset, @offset + @size) of the file, at ELF address @addr. */
void op_dwarf_section_init_range(struct op_dwarf_section *s, struct op_elf *elf,
				 uint64_t offset, uint64_t size, uint64_t addr);
/* Open bytes in memory, borrowed until op_dwarf_section_deinit(). */
void op_dwarf_section_init_bytes(struct op_dwarf_section *s, const void *bytes,
				 size_t len, uint64_t addr);
void op_dwarf_section_deinit(struct op_dwarf_section *s);
/* User memory in use. */
size_t op_dwarf_section_bytes(const struct op_dwarf_section *s);

/* op_dwarf_section_at() if the bytes are not in the last window. */
int op_dwarf_section_load(struct op_dwarf_section *s, uint64_t off, size_t len,
			  const uint8_t **ret);

/* Get @len bytes at @off, valid until the next call. Returns 0; -EBADMSG outside of the
 * section; -E2BIG for more than OP_DWARF_WINDOW_MAX; -ENOMEM; an error of reading. */
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
