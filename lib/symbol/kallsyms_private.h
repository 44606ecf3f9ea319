/* SPDX-License-Identifier: Apache-2.0 */
/* Making a table of kernel functions, one symbol after the other. */
#ifndef OP_SYMBOL_KALLSYMS_PRIVATE_H
#define OP_SYMBOL_KALLSYMS_PRIVATE_H

#include <zstd.h>

#include "symbol/kallsyms.h"

struct op_kallsyms_symbol {
	uint64_t addr;
	uint32_t module;
	uint32_t
		rank; /* of several at an address the lowest; UINT32_MAX: not a function */
	char name[OP_KALLSYMS_NAME_MAX];
};

struct op_kallsyms_builder {
	struct op_kallsyms table;
	struct op_kallsyms_block block; /* being filled */
	OP_VEC(char) names;		/* of the block */
	struct op_kallsyms_symbol last; /* not in the block yet: an alias may follow */
	bool has_last;
	bool in_gap; /* what was put last ended a function */
	ZSTD_CCtx *zstd;
};

/* Rank of a symbol of that type ('T', 't', …) and name. */
uint32_t op_kallsyms_rank(char type, const char *name);
/* Add a symbol; addresses of one module ascend. Returns 0 or -ENOMEM. */
int op_kallsyms_add(struct op_kallsyms_builder *b, uint64_t addr, uint32_t rank,
		    const char *name, uint32_t module);
/* All were added: put what is pending, sort the blocks. Returns 0 or -ENOMEM. */
int op_kallsyms_finish(struct op_kallsyms_builder *b);
void op_kallsyms_abort(struct op_kallsyms_builder *b);

#endif
