/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the readers of Go's tables. */
#ifndef OP_CODE_ELF_GOPCLNTAB_PRIVATE_H
#define OP_CODE_ELF_GOPCLNTAB_PRIVATE_H

#include <stdbool.h>

#include "code/elf/gopclntab.h"

enum op_go_version {
	OP_GO_1_2 = 102,
	OP_GO_1_16 = 116,
	OP_GO_1_18 = 118,
	OP_GO_1_20 = 120,
};

enum {
	/* smallest number of functions for one entry of the sparse index */
	OP_GO_STEP_MIN = 64,
	OP_GO_INDEX_MAX = 2048,
	/* words of the module data that may be the start of the function data */
	OP_GO_PLACES = 16,
};

struct op_gopclntab {
	struct op_elf *elf;
	enum op_go_version version;
	uint8_t quantum; /* bytes of the smallest instruction */

	uint64_t vaddr; /* ELF address of the table */
	uint64_t start; /* file offsets of the table */
	uint64_t end;
	uint64_t text; /* ELF address that functions are relative to; 0 before 1.18 */

	/*
	 * ELF address from which offsets of function data count; 0: unknown. It is one
	 * of the places. The bytes there decide which one, at the first look-up of an
	 * inlined call.
	 */
	uint64_t gofunc;
	bool gofunc_sought;
	uint64_t places[OP_GO_PLACES];

	uint64_t steps_left; /* values that may still be read for the current request */

	uint64_t len; /* number of functions */
	/* File offsets of the parts. */
	uint64_t functab;
	uint64_t funcs; /* function records are relative to this */
	uint64_t names;
	uint64_t cutab;
	uint64_t files;
	uint64_t values;

	uint64_t first_pc;
	uint64_t last_pc; /* end of the last function */

	/* Every index_step-th entry address; built at the first find. */
	uint64_t *index;
	size_t index_len;
	uint64_t index_step;
};

/* Size of a function record (runtime._func); its pcdata follows it. */
static inline size_t op_gopclntab_record_bytes(const struct op_gopclntab *t)
{
	return t->version == OP_GO_1_2 || t->version == OP_GO_1_18 ? 40 : 44;
}

/* Find the table in the file: sets t->vaddr, start and end. Returns 0, -ENOENT
 * or -errno. */
int op_gopclntab_locate(struct op_gopclntab *t);
/* Are these 16 bytes the start of a table's header? */
bool op_gopclntab_is_header(const void *bytes);
/* Set t->text and t->places from the module data. Returns 0 or -errno; what is not found
 * stays 0. */
int op_gopclntab_read_module(struct op_gopclntab *t);

#endif
