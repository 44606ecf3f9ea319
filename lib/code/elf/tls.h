/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a thread-local variable of a file, and its place in each thread. */
#ifndef OP_CODE_ELF_TLS_H
#define OP_CODE_ELF_TLS_H

#include "base/memory.h"
#include "code/elf/file.h"

enum op_elf_tls_form {
	OP_ELF_TLS_STATIC = 1, /* offset is from the thread pointer */
	/* slot is the ELF address of words that the loader writes: */
	OP_ELF_TLS_SLOT_OFFSET,	    /* one: the offset from the thread pointer */
	OP_ELF_TLS_SLOT_DESCRIPTOR, /* two: a function and its argument (TLSDESC) */
	OP_ELF_TLS_SLOT_MODULE, /* two: the module's number and the offset in its block */
};

struct op_elf_tls {
	enum op_elf_tls_form form;
	int64_t offset;
	uint64_t slot;
};

/*
 * Find the variable @name, which the file defines and exports. An executable need not
 * export it. Returns 1 and *@ret; 0 if there is none, or no code of the file uses it;
 * -errno.
 */
int op_elf_tls_find(struct op_elf *elf, const char *name, struct op_elf_tls *ret);

/*
 * The place of a variable in each thread of a process: the thread pointer + offset, or
 * with a module that module's block of the thread + offset. The word at the thread
 * pointer + dtv_at points to the table of blocks (DTV), with dtv_step bytes a module.
 */
struct op_elf_tls_place {
	int64_t offset;
	uint32_t module; /* 0: static */
	int16_t dtv_at;
	uint16_t dtv_step;
};

/*
 * Read the place of @tls in the process whose memory is @memory, and whose C library is
 * musl or glibc. @bias: process address - ELF address. Returns 1 with *@ret; 0 if the
 * loader has not written it yet; -EBADMSG; an error of reading.
 */
int op_elf_tls_place(struct op_elf *elf, const struct op_elf_tls *tls,
		     const struct op_memory *memory, uint64_t bias, bool musl,
		     struct op_elf_tls_place *ret);

#endif
