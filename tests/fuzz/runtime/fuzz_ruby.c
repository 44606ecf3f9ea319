/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction sequences, methods, strings and arrays of Ruby in memory of any bytes, and code of
 * its loop for aarch64. Input: version, then the memory. A line is a line or 0, a name ends, a range
 * of code is in the code. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "input.h"
#include "runtime/ruby/aarch64.h"
#include "runtime/ruby/function.h"
#include "runtime/ruby/lines.h"

#include "op_user_types.h"

#include "op_ruby.h"

enum {
	BASE = 0x1000,
	TRIES = 8,
	LINES = 2048,
};

static uint64_t word_at(const struct input *in, uint64_t addr)
{
	uint64_t word = 0;

	(void)read_input(&in->memory, addr, &word, sizeof(word));
	return word;
}

/* The frame that the step would push for the object at @addr. */
static void frame_of(const struct input *in, uint64_t addr, bool in_c, uint64_t ret[2])
{
	uint64_t at = addr + (in_c ? OP_RUBY_METHOD_DEF : OP_RUBY_BODY_LOCATION);
	uint32_t guard =
		in_c ? op_ruby_guard(word_at(in, at), word_at(in, at + 8),
				     word_at(in, at + 16), 0)
		     : op_ruby_body_guard(word_at(in, addr), word_at(in, at),
					  word_at(in, at + 16), word_at(in, at + 24));

	ret[0] = addr;
	ret[1] = (uint64_t)guard << 32 | (in_c ? OP_RUBY_IN_C : 1);
}

static void read_lines(const struct input *in, uint32_t entry_bytes)
{
	static uint32_t lines[LINES];
	const struct op_ruby_insns insns = {
		.entries = word_at(in, BASE),
		.positions = word_at(in, BASE + 8) & 1 ? word_at(in, BASE + 16) : 0,
		.index = word_at(in, BASE + 24),
		.len = (uint32_t)word_at(in, BASE + 32),
		.entry_bytes = entry_bytes,
	};
	uint32_t i;

	if (op_runtime_ruby_lines(&in->memory, &insns, LINES, lines) < 0)
		return;
	for (i = 0; i < LINES; i++)
		if (lines[i] > INT32_MAX)
			abort();
}

static void read_code(const uint8_t *code, size_t len)
{
	struct op_ruby_loop loop = { 0 };
	size_t i;

	op_runtime_ruby_a64_after(code, len, BASE, 0, &loop);
	op_runtime_ruby_a64_leave(code, len, BASE, &loop);
	for (i = 0; i < OP_RUBY_AFTER && loop.after[i][0]; i++)
		if (loop.after[i][0] < BASE || loop.after[i][1] > BASE + len ||
		    loop.after[i][0] >= loop.after[i][1])
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const versions[] = { "2.7", "3.1", "3.2", "3.3", "3.4" };
	struct input in = { { read_input }, data + 1, size ? size - 1 : 0, BASE };
	struct op_ruby_functions functions;
	struct op_ruby_layout layout;
	uint64_t i;

	if (!size ||
	    op_layouts_find(NULL, &op_runtime_ruby_layouts,
			    versions[data[0] % OP_ARRAY_SIZE(versions)], &layout) < 0)
		return 0;
	read_code(in.bytes, in.len);
	read_lines(&in, layout.insn_bytes);
	op_runtime_ruby_functions_init(&functions, &in.memory, &layout, BASE + 32);
	for (i = 0; i < TRIES; i++) {
		const struct op_ruby_function *f;
		uint64_t words[3] = { 0 };

		functions.window = (uint32_t)i / 4;
		frame_of(&in, BASE + (i & 3) * 64, i & 1, words);
		if (!(i & 1))
			(void)op_runtime_ruby_functions_add(&functions, words[0],
							    (uint32_t)(words[1] >> 32),
							    &in.memory);
		if (op_runtime_ruby_functions_get(&functions, words, &f) < 0)
			continue;
		if (op_runtime_ruby_line(f, words) > INT32_MAX ||
		    strlen(f->name) > 2 * OP_RUBY_TEXT_MAX + 2048 ||
		    strlen(f->file) > OP_RUBY_TEXT_MAX)
			abort();
	}
	op_runtime_ruby_functions_deinit(&functions);
	return 0;
}
