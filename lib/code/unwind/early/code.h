/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of one page of code without unwind data, from the instructions around it. */
#ifndef OP_CODE_UNWIND_EARLY_CODE_H
#define OP_CODE_UNWIND_EARLY_CODE_H

#include "base/vec.h"
#include "code/elf/file.h"
#include "code/unwind/builder.h"

enum {
	/* bytes before and after a page that are read, too: functions cross its ends */
	OP_EARLY_CODE_BEFORE = 16 << 10,
	OP_EARLY_CODE_AFTER = 8 << 10,
};

struct op_early_row {
	uint64_t pc;
	struct op_unwind_rule rule;
};

struct op_early_code {
	struct op_elf *elf;
	uint64_t start;			  /* ELF address of the first byte that is read */
	OP_VEC(struct op_early_row) rows; /* empty: it was not read yet */
};

/* Read the page [@start, @end) of the segment [@low, @high) of @elf. The table may have better
 * rules: it knows all calls. Returns 0 or -ENOMEM. */
int op_early_code_read(struct op_early_code *code, struct op_elf *elf, uint64_t start,
		       uint64_t end, uint64_t low, uint64_t high);
void op_early_code_clear(struct op_early_code *code);
/* Pass the rows of [@start, @end), which was read, to @b by @row. Returns what @row does. */
int op_early_code_rows(const struct op_early_code *code, struct op_builder *b,
		       int (*row)(struct op_builder *b, uint64_t pc,
				  struct op_unwind_rule rule),
		       uint64_t start, uint64_t end);

#endif
