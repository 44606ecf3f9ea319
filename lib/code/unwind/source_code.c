/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for code without unwind data, derived from its instructions: x86-64. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>

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

static void end_gap(struct op_source_code *code)
{
	code->heights = op_heights_free(code->heights);
	free(code->bytes);
	code->bytes = NULL;
}

/* Returns 1; 0 if the bytes cannot be read; or -ENOMEM. */
static int begin_gap(struct op_source_code *code, uint64_t start, uint64_t size,
		     struct op_unwind_rule none)
{
	int r;

	if (size > code->left)
		return 0;
	code->bytes = malloc(size);
	if (!code->bytes)
		return -ENOMEM;
	/* The read fails if the gap is not in the file: a segment may be larger in
	 * memory. */
	r = op_elf_read_vaddr(code->elf, start, code->bytes, size) < 0 ? 0 : 1;
	if (r > 0)
		code->left -= size;
	if (r > 0 && op_heights_new(code->bytes, size, start, none, &code->heights) < 0)
		r = -ENOMEM;
	if (r <= 0)
		end_gap(code);
	return r;
}

/* After -EINPROGRESS the builder asks for the same gap again. */
static int read_gap(void *data, struct op_builder *b, uint64_t start, uint64_t end,
		    struct op_unwind_rule none)
{
	struct op_source_code *code = data;
	struct sink sink = { .b = b, .start = start };
	int r = code->heights ? 1 : begin_gap(code, start, end - start, none);

	if (r <= 0)
		return r < 0 ? r : op_builder_gap_row(b, start, none);
	r = op_heights_on(code->heights, code->allowance, on_rule, &sink);
	if (r != -EINPROGRESS)
		end_gap(code);
	return r;
}

void op_source_code_deinit(struct op_source_code *code)
{
	end_gap(code);
}

void op_source_code_use(struct op_source_code *code, struct op_elf *elf,
			struct op_builder *b)
{
	if (op_elf_machine(elf) != EM_X86_64)
		return;
	*code = (struct op_source_code){ .elf = elf, .left = OP_SOURCE_CODE_BYTES_MAX };
	b->gap = read_gap;
	b->gap_data = code;
}
