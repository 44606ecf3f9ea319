/* SPDX-License-Identifier: Apache-2.0 */
/* A table of kernel functions: 4 bytes each, in blocks of 256 whose names are compressed
 * together. Symbols are added in ascending order of addresses within a module. */
#ifndef OP_CODE_SYMBOL_KALLSYMS_H
#define OP_CODE_SYMBOL_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/vec.h"

enum {
	OP_KALLSYMS_NAME_MAX = 512,  /* KSYM_NAME_LEN */
	OP_KALLSYMS_MODULE_MAX = 64, /* MODULE_NAME_LEN and brackets */
	OP_KALLSYMS_MODULES_MAX = 4096,
	OP_KALLSYMS_BLOCK = 256,
	OP_KALLSYMS_SYMBOLS_MAX = 1 << 20,
	/* No function is longer than this, so an address farther from a function's start
	 * is unknown. */
	OP_KALLSYMS_FUNCTION_MAX = 1 << 20,
};

struct ZSTD_DCtx_s;

struct op_kallsyms_block {
	uint64_t base;
	uint32_t first; /* number of its first symbol */
	uint32_t len;
	uint32_t names; /* offset in the compressed names */
	uint32_t names_len;
	uint32_t module;
};

struct op_kallsyms_module {
	char *name;
	char *build_id; /* NULL: not read yet */
	uint64_t start; /* lowest text address */
};

struct op_kallsyms {
	OP_VEC(struct op_kallsyms_block) blocks;
	OP_VEC(uint32_t) offsets; /* from the block's base */
	OP_VEC(char) names;
	OP_VEC(struct op_kallsyms_module) modules;
	uint64_t symbols; /* symbols with an address */
	uint64_t refused; /* symbols past a limit */
};

/* Read a file in the format of /proc/kallsyms; borrows @fd. Returns 0 or -errno. */
int op_kallsyms_read(int fd, struct op_kallsyms *ret);
void op_kallsyms_deinit(struct op_kallsyms *k);
/* Find the symbol that holds @addr, and its block. Returns its number, or UINT32_MAX. */
uint32_t op_kallsyms_lookup(const struct op_kallsyms *k, uint64_t addr,
			    const struct op_kallsyms_block **ret_block);
/*
 * Decompress the names of a block: one after the other, each ended by a NUL. The caller
 * frees *@ret. @context is ZSTD's; the caller keeps it, because making one costs more
 * than the work.
 */
int op_kallsyms_names(const struct op_kallsyms *k, const struct op_kallsyms_block *block,
		      struct ZSTD_DCtx_s *context, char **ret, size_t *ret_len);
size_t op_kallsyms_bytes(const struct op_kallsyms *k);

#endif
