/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a table of kernel functions symbol by symbol. */
#ifndef OP_CODE_SYMBOL_KALLSYMS_PRIVATE_H
#define OP_CODE_SYMBOL_KALLSYMS_PRIVATE_H

#include <zstd.h>

#include "code/symbol/kallsyms.h"

struct op_kallsyms_symbol {
	uint64_t addr;
	uint32_t module;
	/* the lowest of several at an address wins; UINT32_MAX: not a function */
	uint32_t rank;
	char name[OP_KALLSYMS_NAME_MAX];
};

struct op_kallsyms_builder {
	struct op_kallsyms table;
	struct op_kallsyms_block block; /* the block being filled */
	OP_VEC(char) names;		/* names of that block */
	/* not in the block yet, because an alias may follow */
	struct op_kallsyms_symbol last;
	bool has_last;
	bool in_gap; /* the last entry is the end of a function */
	ZSTD_CCtx *zstd;
};

/* The rank of a symbol with that type ('T', 't', …) and name. */
uint32_t op_kallsyms_rank(char type, const char *name);
/* Add a symbol; the addresses of one module must ascend. Returns 0 or -ENOMEM. */
int op_kallsyms_add(struct op_kallsyms_builder *b, uint64_t addr, uint32_t rank,
		    const char *name, uint32_t module);
/* All symbols were added: append the pending one and sort the blocks. Returns 0 or
 * -ENOMEM. */
int op_kallsyms_finish(struct op_kallsyms_builder *b);
void op_kallsyms_abort(struct op_kallsyms_builder *b);

#endif
