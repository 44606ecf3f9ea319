/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the functions of one executable: from .symtab, .dynsym, .gnu_debugdata,
 * separate debug files (build id directories, .gnu_debuglink) and Go's .gopclntab. Only
 * sorted addresses are in memory. Names stay in the file and are read on demand.
 */
#ifndef OP_CODE_SYMBOL_SYMBOLS_H
#define OP_CODE_SYMBOL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "code/elf/file.h"

struct op_symbols;

/* A function. Strings are owned by the symbols and valid until the next find. */
struct op_symbol {
	const char *name;	 /* demangled */
	const char *system_name; /* as in the file; "" if it equals name */
	const char *file;	 /* source file, or "" */
	uint64_t start;		 /* ELF address of the function */
	/* its size is unknown, so the address may be after its end */
	bool guessed;
	uint32_t line;		/* line of the address, 0: unknown */
	uint32_t start_line;	/* line of the function's start, 0: unknown */
	const char *frame_type; /* "native", "rust", "go" */
};

struct op_symbols_options {
	/* root of the process's file system ("/proc/PID/root") for debug files; NULL:
	 * none are used */
	const char *root;
	/* Used instead of root: opens a path of the process's file system, and decides
	 * whose files are acceptable. Returns a descriptor or -errno. */
	int (*open)(void *ctx, const char *path);
	void *open_ctx;
	const char *path; /* path of the executable below root; NULL: unknown */
	/* memory limit, 0: unlimited; past it the least useful source is left out */
	size_t limit_bytes;
	/* May so many bytes be allocated for a moment? NULL: always. */
	bool (*may_take)(void *ctx, uint64_t bytes);
	void *may_take_ctx;
};

/* Load the index of @elf, which must outlive the result (borrowed). A file without
 * names gives an index that finds nothing. Returns 0; -EAGAIN if the memory may not be
 * allocated at present; -ENOMEM or -errno. */
int op_symbols_new(struct op_elf *elf, const struct op_symbols_options *options,
		   struct op_log *log, struct op_symbols **ret);
struct op_symbols *op_symbols_free(struct op_symbols *symbols);
OP_DEFINE_CLEANUP(struct op_symbols *, op_symbols_free)

/*
 * Find the function that holds ELF address @vaddr, and before it those that are inlined
 * there, innermost first. At most @len are returned (the outermost are kept). Only Go's
 * tables name inlined functions. Returns how many, or -errno.
 */
int op_symbols_find(struct op_symbols *symbols, uint64_t vaddr, struct op_symbol *ret,
		    size_t len);
/* Is a separate debug file open? */
bool op_symbols_hold_file(const struct op_symbols *symbols);
/* User memory in use. */
size_t op_symbols_bytes(const struct op_symbols *symbols);

/* Finds separate debug files, as gdb does, and mini debug info. */

/*
 * Find the debug file of @elf by build id and by .gnu_debuglink. The host's files come
 * first, because a process cannot make those, and then files below the process's root,
 * for which @o has root, open and path. Only a file of the same build is accepted.
 * Returns 1 and *@ret; 0 if there is none; -ENOMEM.
 */
int op_debugfile_find(struct op_elf *elf, const struct op_symbols_options *o,
		      struct op_elf **ret);

/* Open the ELF image inside .gnu_debugdata, of at most @limit bytes. Returns 1 and *@ret;
 * 0 if there is none that can be read; -ENOMEM. */
int op_minidebug_open(struct op_elf *elf, size_t limit, struct op_elf **ret);

/* Cut the version off a name of .symtab such as "memcpy@@GLIBC_2.14", or
 * "memcpy@GLIBC_2.2.5" if the file defines versions (@defined). Names of Crystal and
 * OCaml have an '@' of their own. */
void op_symbol_cut_version(char *name, bool defined);

#endif
