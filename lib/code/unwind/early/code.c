/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/early/code.h"

#include <errno.h>

#include "base/macros.h"
#include "code/unwind/heights/heights.h"

static int read_code(void *data, size_t off, void *buf, size_t len)
{
	const struct op_early_code *code = data;

	return op_elf_read_vaddr(code->elf, code->start + off, buf, len);
}

static int on_rule(void *data, size_t off, struct op_unwind_rule rule)
{
	struct op_early_code *code = data;
	struct op_early_row *row = op_vec_push(&code->rows);

	if (!row)
		return -ENOMEM;
	*row = (struct op_early_row){ code->start + off, rule };
	return 0;
}

int op_early_code_read(struct op_early_code *code, struct op_elf *elf, uint64_t start,
		       uint64_t end, uint64_t low, uint64_t high)
{
	static const struct op_unwind_rule none = { .cfa = OP_CFA_FRAME,
						    .save = OP_SAVE_CHECK };
	uint64_t from = start - OP_MIN(start - low, (uint64_t)OP_EARLY_CODE_BEFORE);
	uint64_t to = end + OP_MIN(high - end, (uint64_t)OP_EARLY_CODE_AFTER);
	const struct op_heights_code of = { .read = read_code,
					    .data = code,
					    .len = to - from,
					    .addr = from,
					    .amid = from > low };
	_cleanup_(op_heights_freep) struct op_heights *heights = NULL;

	code->elf = elf;
	code->start = from;
	if (op_heights_new(&of, none, &heights) < 0)
		return -ENOMEM;
	return op_heights_on(heights, NULL, on_rule, code);
}

void op_early_code_clear(struct op_early_code *code)
{
	op_vec_clear(&code->rows);
}

int op_early_code_rows(const struct op_early_code *code, struct op_builder *b,
		       int (*row)(struct op_builder *b, uint64_t pc,
				  struct op_unwind_rule rule),
		       uint64_t start, uint64_t end)
{
	/* the first row is at the first byte that was read */
	size_t i = op_first_where(at, code->rows.len, code->rows.data[at].pc > start) - 1;
	int r = row(b, start, code->rows.data[i].rule);

	while (r >= 0 && ++i < code->rows.len && code->rows.data[i].pc < end)
		r = row(b, code->rows.data[i].pc, code->rows.data[i].rule);
	return r;
}
