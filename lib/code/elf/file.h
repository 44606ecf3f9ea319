/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file, read in pieces with pread(2) and never mapped, so that a file that shrinks
 * or changes meanwhile causes an error (-ESTALE) and not SIGBUS. Only 64-bit little-endian files
 * for x86-64 or aarch64 are supported; others are -ENOTSUP.
 *
 * Every size in the file is checked against the file's length and against a named limit
 * (code/elf/private.h). An unreadable section table is ignored if there are program headers.
 * Only one thread at a time may use a file, even for reads.
 */
#ifndef OP_CODE_ELF_FILE_H
#define OP_CODE_ELF_FILE_H

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
	const char *name; /* owned by the file; "" if it has none */
	uint32_t type;
	uint32_t link;
	uint32_t info;
	uint64_t flags;
	uint64_t addr;
	uint64_t offset;
	uint64_t size;
};

struct op_elf_symbol {
	uint64_t value;
	uint64_t size;
	uint8_t type; /* STT_* */
	uint8_t bind; /* STB_* */
	uint16_t shndx;
};

/* Identifiers of a file's content; "" if it has none of a kind. */
struct op_build_ids {
	char gnu[65];	  /* .note.gnu.build-id, hex; at most 32 bytes are kept */
	uint64_t gnu_at;  /* of a file: file offset of the id's bytes */
	char go[128];	  /* .note.go.buildid */
	char htlhash[33]; /* hex of SHA-256(first 4 KiB, last 4 KiB, length)[:16] */
};

/*
 * Open the ELF file @fd. Takes ownership of @fd only on success. Returns 0; -ENOEXEC if
 * it is not ELF; -ENOTSUP for another class or machine; -EBADMSG for headers out of
 * range; -ENOMEM; an errno of reading.
 */
int op_elf_open(int fd, struct op_elf **ret);
/* Like op_elf_open(), for a path. */
int op_elf_open_path(const char *path, struct op_elf **ret);
/* Open an ELF image in memory, such as the vDSO or .gnu_debugdata. Takes ownership of
 * @bytes (from malloc) on success. */
int op_elf_open_bytes(void *bytes, size_t len, struct op_elf **ret);
struct op_elf *op_elf_free(struct op_elf *elf);
OP_DEFINE_CLEANUP(struct op_elf *, op_elf_free)

uint16_t op_elf_machine(const struct op_elf *elf); /* EM_X86_64 or EM_AARCH64 */
uint16_t op_elf_type(const struct op_elf *elf);	   /* ET_EXEC, ET_DYN, … */
uint64_t op_elf_entry(const struct op_elf *elf);
uint64_t op_elf_size(const struct op_elf *elf);	   /* bytes of the file */
uint64_t op_elf_data(const struct op_elf *elf);	   /* bytes outside of holes */
int64_t op_elf_mtime_ns(const struct op_elf *elf); /* when it was opened; 0: in memory */
int op_elf_fd(const struct op_elf *elf); /* borrowed; -1: in memory or suspended */

/* Close the descriptor and keep what was read. Reads fail with -EBADF until
 * op_elf_resume(). A file in memory has no descriptor and is never suspended. */
void op_elf_suspend(struct op_elf *elf);
bool op_elf_is_suspended(const struct op_elf *elf);
/* Suspend the file and return its descriptor. */
int op_elf_take_fd(struct op_elf *elf);
/* Resume the suspended @elf with @fd, a descriptor of the same file; takes ownership of
 * @fd. */
void op_elf_resume(struct op_elf *elf, int fd);

const struct op_elf_segment *op_elf_segments(const struct op_elf *elf, size_t *ret_len);
const struct op_elf_section *op_elf_sections(const struct op_elf *elf, size_t *ret_len);
/* The first section with that name, or NULL. */
const struct op_elf_section *op_elf_section(const struct op_elf *elf, const char *name);

/*
 * Count work on the file that reads little as if it had read @bytes. Returns 0, or
 * -EFBIG beyond the work that a file of this size may cause per second (private.h).
 * Reads count in the same way.
 */
int op_elf_work(struct op_elf *elf, uint64_t bytes);
/* -EFBIG if op_elf_work() never allows so many bytes at once, so that nothing is read in
 * vain; or 0. */
int op_elf_may_work(const struct op_elf *elf, uint64_t bytes);
/* Read exactly @len bytes at file offset @off. Returns 0, -ENODATA past the end, or
 * -errno. */
int op_elf_read(struct op_elf *elf, uint64_t off, void *buf, size_t len);
/* As op_elf_read(), for a read whose neighbouring bytes are not likely to be read next, as in a
 * search or a jump. */
int op_elf_read_apart(struct op_elf *elf, uint64_t off, void *buf, size_t len);
/* As op_elf_read_apart(), for a few bytes that are likely to be read again soon, as in the first
 * steps of searches. */
int op_elf_read_kept(struct op_elf *elf, uint64_t off, void *buf, size_t len);
/* Read at an ELF address, from the parts of PT_LOAD segments that are in the file. */
int op_elf_read_vaddr(struct op_elf *elf, uint64_t vaddr, void *buf, size_t len);
/*
 * Read a NUL-terminated string at file offset @off that ends before offset @end, at most
 * @size bytes with the NUL. Returns 0; -ENAMETOOLONG if it is longer; -ENODATA if it has
 * no end; or -errno.
 */
int op_elf_read_str(struct op_elf *elf, uint64_t off, uint64_t end, char *buf,
		    size_t size);

/*
 * Read @len words at an ELF address, with the values they have after loading at address
 * 0: relative relocations of DT_RELA are applied (those of DT_RELR have their addend in
 * place). After an error @ret is undefined.
 */
int op_elf_read_words(struct op_elf *elf, uint64_t vaddr, uint64_t *ret, size_t len);

/*
 * Read the whole content of a section of at most @limit bytes, decompressed if it is
 * SHF_COMPRESSED (zlib, zstd). The caller frees *@ret. Returns 0; -EFBIG past the limit;
 * -ENODATA for SHT_NOBITS or a short file; -EBADMSG; -ENOMEM.
 */
int op_elf_section_data(struct op_elf *elf, const struct op_elf_section *section,
			size_t limit, void **ret, size_t *ret_len);

enum op_elf_symtab_kind {
	OP_ELF_DYNSYM,
	OP_ELF_SYMTAB,
};

/* The places of a symbol table and its strings in the file. */
struct op_elf_symtab {
	uint64_t offset;
	uint64_t count;
	uint64_t str_offset;
	uint64_t str_size;
};

/* Find a symbol table. Returns 1 and *@ret; 0 if there is none; or -errno. .dynsym is
 * also found without section headers. */
int op_elf_symtab(struct op_elf *elf, enum op_elf_symtab_kind kind,
		  struct op_elf_symtab *ret);
/* @name: offset in the string table. A value other than 0 ends the iteration and is
 * returned. */
typedef int (*op_elf_symbol_fn)(void *data, const struct op_elf_symbol *symbol,
				uint32_t name);
/* Call @fn for each symbol except the first (null) one; the table is read in pieces. */
int op_elf_symbol_each(struct op_elf *elf, const struct op_elf_symtab *table,
		       op_elf_symbol_fn fn, void *data);

/*
 * Find a defined symbol by name, in .dynsym and then in .symtab; the tables are read in
 * pieces. If one table has several, a global one is preferred. Returns 1 and *@ret; 0 if
 * there is none; or -errno.
 */
int op_elf_find_symbol(struct op_elf *elf, const char *name, struct op_elf_symbol *ret);
/* As above for @len names at once (at most OP_ELF_FIND_MAX, else -E2BIG). ret[i] is all
 * zero if names[i] was not found. Returns how many were found. */
enum {
	OP_ELF_FIND_MAX = 256
};
int op_elf_find_symbols(struct op_elf *elf, const char *const *names, size_t len,
			struct op_elf_symbol *ret);
/* The same in .dynsym alone. */
int op_elf_find_exported(struct op_elf *elf, const char *const *names, size_t len,
			 struct op_elf_symbol *ret);

/* Get the file's build ids. Returns 0 (each may be ""), or -errno. */
int op_elf_build_ids(struct op_elf *elf, struct op_build_ids *ret);
/* Add the GNU and Go ids from notes in memory, such as /sys/kernel/notes; ids that are
 * already set are kept. @align: 4, or 8 in some segments. @off: of @bytes in the file. */
void op_elf_parse_notes(const void *bytes, size_t len, size_t align, uint64_t off,
			struct op_build_ids *ids);

#endif
