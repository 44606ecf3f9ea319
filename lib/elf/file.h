/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file, read in pieces with pread(2) and never mapped, so that a file which shrinks
 * or changes while it is read costs an error and no SIGBUS. 64-bit, little-endian, x86-64
 * or aarch64 only; anything else is -ENOTSUP.
 *
 * Every size in the file is checked against the file's length and against a named limit
 * (elf/private.h). A section table that cannot be read is left out where there are program
 * headers. One thread at a time may use a file, reads included.
 */
#ifndef OP_ELF_FILE_H
#define OP_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct op_elf;

/* A program header. */
struct op_elf_segment {
	uint32_t type;
	uint32_t flags;
	uint64_t offset;
	uint64_t vaddr;
	uint64_t filesz;
	uint64_t memsz;
	uint64_t align;
};

/* A section header. */
struct op_elf_section {
	const char *name; /* owned by the file; "" where it has none */
	uint32_t type;
	uint32_t link;
	uint32_t info;
	uint64_t flags;
	uint64_t addr;
	uint64_t offset;
	uint64_t size;
	uint64_t entsize;
};

struct op_elf_symbol {
	uint64_t value;
	uint64_t size;
	uint8_t type; /* STT_* */
	uint8_t bind; /* STB_* */
	uint16_t shndx;
};

/* Names of one file by its content; "" where it has none. */
struct op_build_ids {
	char gnu[65];	  /* .note.gnu.build-id, hex; at most 32 bytes are kept */
	char go[128];	  /* .note.go.buildid */
	char htlhash[33]; /* hex of SHA-256(first 4 KiB, last 4 KiB, length)[:16] */
};

/*
 * Open the ELF file behind @fd. Takes ownership of @fd on success only.
 * Returns 0; -ENOEXEC: not ELF; -ENOTSUP: another class or machine; -EBADMSG: headers out
 * of range; -ENOMEM; the errno of reading.
 */
int op_elf_open(int fd, struct op_elf **ret);
/* As op_elf_open(), of a path. */
int op_elf_open_path(const char *path, struct op_elf **ret);
/* An ELF image held in memory, such as the vDSO or .gnu_debugdata. Takes ownership of
 * @bytes (from malloc) on success. */
int op_elf_open_bytes(void *bytes, size_t len, struct op_elf **ret);
struct op_elf *op_elf_free(struct op_elf *elf);
OP_DEFINE_CLEANUP(struct op_elf *, op_elf_free)

uint16_t op_elf_machine(const struct op_elf *elf); /* EM_X86_64 or EM_AARCH64 */
uint16_t op_elf_type(const struct op_elf *elf);	   /* ET_EXEC, ET_DYN, … */
uint64_t op_elf_entry(const struct op_elf *elf);
uint64_t op_elf_size(const struct op_elf *elf); /* bytes of the file */
uint64_t op_elf_data(const struct op_elf *elf); /* of them not in holes */
int op_elf_fd(const struct op_elf *elf); /* borrowed; -1: in memory, or suspended */

/* Close the descriptor, keep what was read: reads fail with -EBADF until op_elf_resume().
 * One in memory has none and is never suspended. */
void op_elf_suspend(struct op_elf *elf);
bool op_elf_is_suspended(const struct op_elf *elf);
/* Suspend and hand out the descriptor. */
int op_elf_take_fd(struct op_elf *elf);
/* Go on with @fd, which is the same file; takes it. @elf is suspended. */
void op_elf_resume(struct op_elf *elf, int fd);

const struct op_elf_segment *op_elf_segments(const struct op_elf *elf, size_t *ret_len);
const struct op_elf_section *op_elf_sections(const struct op_elf *elf, size_t *ret_len);
/* The first section of that name, or NULL. Not there is not an error. */
const struct op_elf_section *op_elf_section(const struct op_elf *elf, const char *name);

/* Note work on the file that reads little: as much as @bytes of it. 0, or -EFBIG past what a
 * file with so much content is worth in a second (private.h); so does every read. */
int op_elf_work(struct op_elf *elf, uint64_t bytes);
/* Read exactly @len bytes at file offset @off. Returns 0, -ENODATA past the end, -errno. */
int op_elf_read(struct op_elf *elf, uint64_t off, void *buf, size_t len);
/* As op_elf_read(), where what stands around it is not likely to be read next: of a search, or
 * of a jump. */
int op_elf_read_apart(struct op_elf *elf, uint64_t off, void *buf, size_t len);
/* As op_elf_read_apart(), of few bytes that are likely to be read again soon: the first steps
 * of searches. */
int op_elf_read_kept(struct op_elf *elf, uint64_t off, void *buf, size_t len);
/* Read at an ELF address, through the PT_LOAD segments' file parts. */
int op_elf_read_vaddr(struct op_elf *elf, uint64_t vaddr, void *buf, size_t len);
/* A NUL-terminated string at an ELF address, at most @size bytes with the NUL. Returns 0,
 * -ENAMETOOLONG where it is longer, -ENODATA where it has no end, -errno. */
int op_elf_read_vaddr_str(struct op_elf *elf, uint64_t vaddr, char *buf, size_t size);
/* As above, at file offset @off and ending before offset @end. */
int op_elf_read_str(struct op_elf *elf, uint64_t off, uint64_t end, char *buf,
		    size_t size);

/* @len words at an ELF address as they are after loading at address 0: relative
 * relocations (DT_RELA; DT_RELR needs nothing) are applied. On failure @ret is undefined. */
int op_elf_read_words(struct op_elf *elf, uint64_t vaddr, uint64_t *ret, size_t len);

/*
 * The whole content of a section of at most @limit bytes, decompressed where it is
 * SHF_COMPRESSED (zlib, zstd). Caller frees *@ret. Returns 0, -EFBIG past the limit,
 * -ENODATA for SHT_NOBITS or a short file, -EBADMSG, -ENOMEM.
 */
int op_elf_section_data(struct op_elf *elf, const struct op_elf_section *section,
			size_t limit, void **ret, size_t *ret_len);

enum op_elf_symtab_kind {
	OP_ELF_DYNSYM,
	OP_ELF_SYMTAB,
};

/* Where a symbol table and its strings stand in the file. */
struct op_elf_symtab {
	uint64_t offset;
	uint64_t count;
	uint64_t str_offset;
	uint64_t str_size;
};

/* Returns 1 and *@ret, 0 where there is none, -errno. .dynsym is also found without
 * section headers. */
int op_elf_symtab(struct op_elf *elf, enum op_elf_symtab_kind kind,
		  struct op_elf_symtab *ret);
/* @name: offset in the strings. A value other than 0 ends and is returned. */
typedef int (*op_elf_symbol_fn)(void *data, const struct op_elf_symbol *symbol,
				uint32_t name);
/* Visit each symbol but the first (null) one, reading the table in pieces. */
int op_elf_symbol_each(struct op_elf *elf, const struct op_elf_symtab *table,
		       op_elf_symbol_fn fn, void *data);

/*
 * Find a defined symbol by name, in .dynsym and then .symtab, reading the tables in
 * pieces. Of several in one table a global one is preferred.
 * Returns 1 and *@ret, 0 where there is none, or -errno.
 */
int op_elf_find_symbol(struct op_elf *elf, const char *name, struct op_elf_symbol *ret);
/* As above for @len names at once (at most OP_ELF_FIND_MAX, else -E2BIG): ret[i] is all
 * zero where names[i] was not found. Returns how many were found. */
enum {
	OP_ELF_FIND_MAX = 256
};
int op_elf_find_symbols(struct op_elf *elf, const char *const *names, size_t len,
			struct op_elf_symbol *ret);

/* Call @fn for each DT_NEEDED name; a value other than 0 ends and is returned. */
int op_elf_needed(struct op_elf *elf, int (*fn)(void *data, const char *name),
		  void *data);

/* The file's build ids. Returns 0 (each may be ""), or -errno. */
int op_elf_build_ids(struct op_elf *elf, struct op_build_ids *ret);
/* The gnu and go ids among notes in memory, such as /sys/kernel/notes; ids that are
 * already there stay. @align: 4, or 8 as some segments have it. */
void op_elf_parse_notes(const void *bytes, size_t len, size_t align,
			struct op_build_ids *ids);

#endif
