/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this folder. */
#ifndef OP_CODE_ELF_PRIVATE_H
#define OP_CODE_ELF_PRIVATE_H

#include <elf.h>
#include <sys/stat.h>

#include "code/elf/file.h"

enum {
	/* Limits on what a header may request; linkers make fewer than 20 and 60. */
	OP_ELF_SEGMENTS_MAX = 512,
	OP_ELF_SECTIONS_MAX = 8192,
	OP_ELF_SECTION_NAMES_MAX = 1 << 20,
	/* Dynamic entries read; linkers make fewer than 64, not counting DT_NEEDED. */
	OP_ELF_DYNAMIC_MAX = 4096,

	/* small reads are served from a window of this size */
	OP_ELF_WINDOW_BYTES = 4096,
	/* How many small reads are kept because they may be repeated, and their size. */
	OP_ELF_KEPT = 128,
	OP_ELF_KEPT_BYTES = 16,
	/* tables are read in pieces of this size */
	OP_ELF_PIECE_BYTES = 64 << 10,
	/*
	 * The work allowed for a file in OP_ELF_WORK_NS: FACTOR times its content plus
	 * MORE bytes, where each call, symbol and string counts as some bytes. This ends
	 * the reading of a table that has false counts, or that is read again for each of
	 * its entries.
	 */
	OP_ELF_WORK_FACTOR = 8,
	OP_ELF_WORK_MORE = 32 << 20,
	OP_ELF_CALL_WORK = 32,
	OP_ELF_SYMBOL_WORK = 16, /* for one symbol or string, in addition to its bytes */

	/* strings of unknown length are read in steps of this size */
	OP_ELF_STRING_STEP = 256,
};

#define OP_ELF_WORK_NS UINT64_C(1000000000)

/* The bytes of a small read. */
struct op_elf_kept {
	uint64_t off;
	uint8_t len; /* 0: nothing is kept here */
	uint8_t bytes[OP_ELF_KEPT_BYTES];
};

struct op_elf {
	int fd;		/* -1: in memory */
	uint8_t *bytes; /* the image, or NULL */
	uint64_t size;
	int64_t mtime_ns; /* of the descriptor's file when it was opened */
	uint64_t data;	  /* bytes with content: a sparse file has fewer than size */
	uint64_t work;	  /* bytes read since work_ns, plus OP_ELF_CALL_WORK a call */
	uint64_t work_ns; /* CLOCK_MONOTONIC */
	uint64_t entry;
	uint16_t machine;
	uint16_t type;

	struct op_elf_segment *segments;
	size_t segments_len;
	struct op_elf_section *sections;
	size_t sections_len;
	char *names; /* the section names */

	/* OP_ELF_WINDOW_BYTES at window_off; allocated at the first use */
	uint8_t *window;
	uint64_t window_off;
	size_t window_len;
	struct op_elf_kept *kept; /* OP_ELF_KEPT entries; allocated at the first use */
};

static inline int64_t op_elf_stat_mtime_ns(const struct stat *st)
{
	return st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec;
}

/* Call @fn for the entries of the dynamic section up to DT_NULL; PT_DYNAMIC locates it. A
 * value other than 0 ends the iteration and is returned. */
int op_elf_dynamic_each(struct op_elf *elf,
			int (*fn)(void *data, int64_t tag, uint64_t value), void *data);

/* The file offset of @len bytes at ELF address @vaddr. Returns 0 or -ENODATA. */
int op_elf_vaddr_offset(const struct op_elf *elf, uint64_t vaddr, uint64_t len,
			uint64_t *ret);

/* Add the GNU and Go build ids of the file's notes. Returns 0 or -errno. */
int op_elf_read_notes(struct op_elf *elf, struct op_build_ids *ids);

#endif
