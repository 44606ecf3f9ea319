/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for code without unwind data, derived from its instructions: x86-64. */
#include <elf.h>
#include <errno.h>

#include "code/unwind/heights/heights.h"
#include "code/unwind/source.h"

struct sink {
	struct op_builder *b;
	uint64_t start;
};

static int on_rule(void *data, size_t off, struct op_unwind_rule rule)
{
	const struct sink *s = data;

	return op_builder_gap_row(s->b, s->start + off, rule);
}

static int read_code(void *data, size_t off, void *buf, size_t len)
{
	const struct op_source_code *code = data;

	return op_elf_read_vaddr(code->elf, code->start + off, buf, len);
}

/* Returns 1; 0 if the share of the file is used up; or -ENOMEM. */
static int begin_gap(struct op_source_code *code, uint64_t start, uint64_t size,
		     struct op_unwind_rule none)
{
	const struct op_heights_code from = { .read = read_code,
					      .data = code,
					      .len = size,
					      .addr = start,
					      .keep = code->keep };

	if (size > code->left)
		return 0;
	code->left -= size;
	code->start = start;
	return op_heights_new(&from, none, &code->heights) < 0 ? -ENOMEM : 1;
}

/* After -EINPROGRESS the builder asks for the same gap again. */
static int read_gap(void *data, struct op_builder *b, uint64_t start, uint64_t end,
		    struct op_unwind_rule none)
{
	struct op_source_code *code = data;
	struct sink sink = { .b = b, .start = start };
	int r = code->heights ? 1 : begin_gap(code, start, end - start, none);

	if (r == 0)
		b->table->unread += end - start;
	if (r <= 0)
		return r < 0 ? r : op_builder_gap_row(b, start, none);
	r = op_heights_on(code->heights, code->allowance, on_rule, &sink);
	/* A second pass over the file is worthwhile only for much such code. */
	b->table->wants_kept |= end - start >= OP_UNWIND_TABLE_GAP_FRAME &&
				op_heights_wants_kept(code->heights);
	if (r != -EINPROGRESS)
		op_source_code_deinit(code);
	return r;
}

void op_source_code_deinit(struct op_source_code *code)
{
	code->heights = op_heights_free(code->heights);
}

void op_source_code_use(struct op_source_code *code, struct op_elf *elf,
			struct op_builder *b, bool keep)
{
	if (op_elf_machine(elf) != EM_X86_64)
		return;
	*code = (struct op_source_code){ .elf = elf,
					 .left = OP_SOURCE_CODE_BYTES_MAX,
					 .keep = keep };
	b->gap = read_gap;
	b->gap_data = code;
}
