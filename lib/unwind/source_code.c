/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of code that nothing describes, read from its instructions: x86-64. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "unwind/code/heights.h"
#include "unwind/source.h"

struct sink {
	struct op_builder *b;
	uint64_t start;
};

static int on_rule(void *data, size_t off, struct op_rule rule)
{
	const struct sink *s = data;

	return op_builder_gap_row(s->b, s->start + off, rule);
}

static int read_gap(void *data, struct op_builder *b, uint64_t start, uint64_t end,
		    struct op_rule none)
{
	struct op_source_code *code = data;
	struct sink sink = { .b = b, .start = start };
	uint64_t size = end - start;
	uint8_t *bytes;
	int r;

	if (size > code->left)
		return op_builder_gap_row(b, start, none);
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	/* A segment's memory may be larger than its part of the file. */
	if (op_elf_read_vaddr(code->elf, start, bytes, size) < 0) {
		r = op_builder_gap_row(b, start, none);
	} else {
		code->left -= size;
		r = op_heights_read(bytes, size, start, none, on_rule, &sink);
	}
	free(bytes);
	return r;
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
