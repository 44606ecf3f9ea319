/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the records of .eh_frame and .debug_frame: CIEs, FDEs and their encoded
 * pointers. */
#ifndef OP_CODE_DWARF_ENTRY_H
#define OP_CODE_DWARF_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "code/dwarf/cfi.h"
#include "code/elf/file.h"

/*
 * Reads a section through windows: a few pieces are held, and the least recently used one
 * is replaced. A window that is extended from its end grows, so that sequential readers
 * make few system calls and random readers copy little.
 */
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

/* DW_EH_PE_*: the size of a pointer, what it is relative to, and whether it
 * is indirect. */
enum op_eh_pe {
	OP_EH_PE_ABSPTR = 0x00,
	OP_EH_PE_ULEB128 = 0x01,
	OP_EH_PE_UDATA2 = 0x02,
	OP_EH_PE_UDATA4 = 0x03,
	OP_EH_PE_UDATA8 = 0x04,
	OP_EH_PE_SLEB128 = 0x09,
	OP_EH_PE_SDATA2 = 0x0a,
	OP_EH_PE_SDATA4 = 0x0b,
	OP_EH_PE_SDATA8 = 0x0c,
	OP_EH_PE_FORMAT = 0x0f,
	OP_EH_PE_PCREL = 0x10,
	OP_EH_PE_DATAREL = 0x30,
	OP_EH_PE_ALIGNED = 0x50,
	OP_EH_PE_BASE = 0x70,
	OP_EH_PE_INDIRECT = 0x80,
	OP_EH_PE_OMIT = 0xff,
};

struct op_cie {
	uint64_t off;
	bool known; /* this entry of the cache is in use */
	bool bad;
	bool signal;
	bool sized; /* augmentation 'z': FDEs have augmentation data of stated length */
	uint8_t pointer; /* enum op_eh_pe of the pointers in its FDEs */
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_reg;
	struct op_cfi_state initial;
};

struct op_cfi {
	enum op_cfi_kind kind;
	uint16_t fp_reg;
	uint16_t sp_reg;
	/* register followed in addition; fp_reg if there is none, as fp_reg is compared
	 * first */
	uint16_t kept_reg;
	struct op_elf *elf; /* borrowed; NULL for bytes */
	struct op_dwarf_section section;
	bool has_terminator; /* the section's end is unknown: a length of 0 ends it */
	struct op_cie cies[OP_CFI_CIES_KEPT];
	uint64_t bad_cies;
};

/* One record: a length, an id, a body. */
struct op_cfi_entry {
	uint64_t off;
	uint64_t next;	 /* offset of the record after it */
	uint64_t id_off; /* offset of the id */
	uint64_t id;
	uint64_t body; /* offset of what follows the id */
	size_t body_len;
	bool empty; /* it is a terminator */
	bool is_cie;
	uint64_t cie; /* in an FDE: the offset of its CIE */
};

struct op_cfi_parsed_fde {
	struct op_cfi_fde fde; /* The part of it that is wanted: */
	uint64_t pc;	       /* the pc at which its program begins; at most fde.start */
	const struct op_cie *cie;
	struct op_reader program; /* valid until the section is read again */
	uint64_t program_addr;	  /* ELF address of its first byte */
};

/*
 * Read the record at @off. Returns 0; -EBADMSG if it is broken and the next cannot be
 * found (`next` is 0 then); -E2BIG if it cannot be used but the next can be found;
 * -errno.
 */
int op_cfi_read_entry(struct op_cfi *cfi, uint64_t off, struct op_cfi_entry *ret);

/* Get the CIE at @off through the cache. Never NULL on success, but possibly `bad`. */
int op_cfi_get_cie(struct op_cfi *cfi, uint64_t off, const struct op_cie **ret);

/* Read the FDE in @entry. Returns 0, -EBADMSG or -errno. */
int op_cfi_read_fde(struct op_cfi *cfi, const struct op_cfi_entry *entry,
		    struct op_cfi_parsed_fde *ret);

/*
 * Read a pointer of encoding @encoding, whose first byte is at ELF address @addr. Sets
 * r->failed if its value cannot be known: it is indirect, or relative to something
 * unknown here.
 */
uint64_t op_cfi_read_pointer(struct op_reader *r, uint8_t encoding, uint64_t addr);

/* Run the instructions of a CIE into cie->initial. Returns 0 or -EBADMSG. */
int op_cfi_run_cie(const struct op_cfi *cfi, struct op_cie *cie, struct op_reader *r,
		   uint64_t addr);
/* Run an FDE's instructions and give its rows to @sink. Returns 0; -EBADMSG if they are
 * unreadable from some pc on (@sink knows it); or the sink's negative value. */
int op_cfi_run_fde(const struct op_cfi *cfi, struct op_cfi_parsed_fde *parsed,
		   const struct op_cfi_sink *sink);

#endif
