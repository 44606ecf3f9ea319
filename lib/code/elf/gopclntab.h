/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads .gopclntab, Go's table of functions. The Go runtime itself unwinds stacks with
 * it, so every Go program has it, even a stripped one. Supports the formats of Go 1.2,
 * 1.16, 1.18 and 1.20; since 1.26 the start of the text is in the module data (section
 * .go.module). The table is found by section name, by symbol, or by its header inside
 * .data.rel.ro.
 *
 * It is read from the file on demand; only a sparse index is kept in memory.
 */
#ifndef OP_CODE_ELF_GOPCLNTAB_H
#define OP_CODE_ELF_GOPCLNTAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/allowance.h"
#include "base/cleanup.h"
#include "code/elf/file.h"

struct op_gopclntab;

/* abi.FuncFlag; since Go 1.17. */
enum op_go_flag {
	OP_GO_TOP_FRAME = 1 << 0, /* outermost frame of its stack: unwinding stops */
	OP_GO_SP_WRITE = 1 << 1,  /* writes an arbitrary value to SP */
	OP_GO_ASM = 1 << 2,	  /* written in assembly */
};

/* A function. Offsets are relative to the parts of the table; 0: there is none. */
struct op_go_function {
	uint64_t entry; /* ELF address */
	uint64_t end;	/* entry of the next function, so padding is included */
	uint64_t at;	/* file offset of its record (runtime._func) */
	uint32_t name;
	uint32_t pcsp; /* SP delta: bytes from SP to the CFA without the return address */
	uint32_t pcfile; /* file number */
	uint32_t pcln;	 /* line */
	uint32_t cu;	 /* first file of its compilation unit */
	uint32_t npcdata;
	uint32_t nfuncdata;
	uint32_t start_line; /* 0: unknown (before Go 1.20) */
	uint32_t flags;	     /* OP_GO_* */
	/* runtime.funcID of a function that the runtime treats specially; 0: any other */
	uint32_t id;
};

/* A source position; if there are several, the innermost inlined function is first. */
struct op_go_line {
	char function[512]; /* cut if it is longer */
	char file[1024];
	uint32_t line;
	uint32_t start_line;
};

/*
 * Returns 0; -ENOENT if it is not a Go program; -ENOTSUP for an unknown version; -EBADMSG
 * if the header does not fit the file; -ENOMEM; -errno. Borrows @elf, which must outlive
 * the table.
 */
int op_gopclntab_open(struct op_elf *elf, struct op_gopclntab **ret);
struct op_gopclntab *op_gopclntab_free(struct op_gopclntab *t);
OP_DEFINE_CLEANUP(struct op_gopclntab *, op_gopclntab_free)

/* The Go version that introduced the format: 102, 116, 118 or 120. */
unsigned int op_gopclntab_version(const struct op_gopclntab *t);
/* The range of ELF addresses of all Go code, [*@ret_start, *@ret_end). */
void op_gopclntab_range(const struct op_gopclntab *t, uint64_t *ret_start,
			uint64_t *ret_end);
size_t op_gopclntab_bytes(const struct op_gopclntab *t); /* user memory in use */

/* Call @fn for each function by address. A value other than 0 ends the iteration and is
 * returned. Records that cannot be read are skipped. @fn may call the functions below. */
int op_gopclntab_each(struct op_gopclntab *t,
		      int (*fn)(void *data, const struct op_go_function *f), void *data);
/*
 * As above, in slices: begins at function number *@at, which is advanced for the next
 * call. Also returns -EINPROGRESS when @allowance is over, or when @fn returned it; then the
 * next call begins with the same function.
 */
int op_gopclntab_each_from(struct op_gopclntab *t, uint64_t *at,
			   struct op_allowance *allowance,
			   int (*fn)(void *data, const struct op_go_function *f),
			   void *data);
/* Find the function that holds ELF address @vaddr. Returns 1 and *@ret; 0 if there is
 * none; -errno. */
int op_gopclntab_find(struct op_gopclntab *t, uint64_t vaddr, struct op_go_function *ret);
/* The function's name, cut to @size bytes with the NUL. */
int op_gopclntab_name(struct op_gopclntab *t, const struct op_go_function *f, char *buf,
		      size_t size);

/*
 * Call @fn for each range [start, end) of the value table at @offset (f->pcsp, …) within
 * @f. A value other than 0 ends the iteration and is returned. Returns -EBADMSG if the
 * table has no end.
 */
int op_gopclntab_values(
	struct op_gopclntab *t, const struct op_go_function *f, uint32_t offset,
	int (*fn)(void *data, uint64_t start, uint64_t end, int32_t value), void *data);
/* The value for @vaddr in that table. Returns 1 and *@ret; 0 if there is none;
 * or -errno. */
int op_gopclntab_value(struct op_gopclntab *t, const struct op_go_function *f,
		       uint32_t offset, uint64_t vaddr, int32_t *ret);

/*
 * The source lines of @vaddr in @f: those of each inlined function and of @f itself,
 * innermost first. At most @len are returned (the outermost are kept). An unknown file is
 * "", an unknown line 0. Returns how many.
 */
int op_gopclntab_lines(struct op_gopclntab *t, const struct op_go_function *f,
		       uint64_t vaddr, struct op_go_line *ret, size_t len);

#endif
