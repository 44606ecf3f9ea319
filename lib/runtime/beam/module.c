/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/beam/module.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/reader.h"

enum {
	EMULATOR = 0,
	MODULE = 1,
	/* The structs have 8, 32, 16 and 12 bytes. Texts begin within them, right after
	 * the last member, and the data behind a text is as far away as if it began
	 * after them. */
	HEADER_BYTES = 8,
	MODULE_PAD = 6,
	RANGE_PAD = 2,
	LINE_PAD = 2,
};

/* The code before a function's first instruction has a range of its own, without lines. */
static const char prologue[] = "-CodeInfoPrologue";

static bool is_prologue(const char *name)
{
	size_t len = strlen(name);
	size_t end = sizeof(prologue) - 1;

	return len > end && strcmp(name + len - end, prologue) == 0;
}

/* A text of @len bytes with its end. NULL if it has none, or if it is not in the buffer. */
static const char *read_text(struct op_reader *in, uint16_t len, uint32_t pad)
{
	const uint8_t *text = op_read_bytes(in, len);

	op_read_skip(in, pad);
	if (!text || !len || text[len - 1]) {
		in->failed = true;
		return NULL;
	}
	return (const char *)text;
}

static int open_module(struct op_reader *in, uint32_t kind)
{
	uint32_t is = op_read_u32(in);

	op_read_skip(in, HEADER_BYTES - sizeof(is));
	return in->failed ? -EBADMSG : is == kind;
}

int op_runtime_beam_emulator(const void *bytes, size_t len, uint64_t *ret_exit)
{
	struct op_reader in = op_reader_init(bytes, len);
	int r = open_module(&in, EMULATOR);
	uint64_t exit;

	if (r < 1)
		return r;
	op_read_skip(&in, 8); /* frame_layout */
	exit = op_read_u64(&in);
	if (in.failed)
		return -EBADMSG;
	*ret_exit = exit;
	return 1;
}

static int read_head(struct op_reader *in, struct op_beam_module *ret,
		     uint32_t *ret_ranges, uint16_t *ret_name)
{
	int r = open_module(in, MODULE);

	if (r < 1)
		return r;
	ret->base = op_read_u64(in);
	*ret_ranges = op_read_u32(in);
	ret->size = op_read_u32(in);
	*ret_name = op_read_u16(in);
	return in->failed || ret->base > UINT64_MAX - ret->size ? -EBADMSG : 1;
}

int op_runtime_beam_module(const void *bytes, size_t len, struct op_beam_module *ret)
{
	struct op_reader in = op_reader_init(bytes, len);
	struct op_beam_module module;
	uint32_t ranges;
	uint16_t name;
	int r = read_head(&in, &module, &ranges, &name);

	if (r == 1)
		*ret = module;
	return r;
}

/* Read the @count lines of a function. The last one that begins not after @off contains
 * it. Before the first one, the first counts. */
static void read_lines(struct op_reader *in, uint32_t count, uint64_t off,
		       struct op_beam_function *f)
{
	uint32_t i;

	f->file = "";
	f->line = f->start_line = 0;
	for (i = 0; i < count && !in->failed; i++) {
		uint32_t start = op_read_u32(in);
		uint32_t line = op_read_u32(in);
		uint16_t len = op_read_u16(in);
		const char *file = read_text(in, len, LINE_PAD);

		if (!file)
			return;
		if (i == 0)
			f->start_line = line;
		if (i == 0 || start <= off) {
			f->line = line;
			f->file = file;
		}
	}
}

int op_runtime_beam_function(const void *bytes, size_t len, uint64_t addr,
			     const char *name, struct op_beam_function *ret)
{
	struct op_reader in = op_reader_init(bytes, len);
	struct op_beam_module module;
	struct op_beam_function f;
	uint32_t ranges;
	uint16_t name_len;
	bool before = false; /* it is the prologue of the next one */
	uint32_t i;
	int r = read_head(&in, &module, &ranges, &name_len);

	if (r < 1)
		return r;
	(void)read_text(&in, name_len, MODULE_PAD);
	for (i = 0; i < ranges && !in.failed; i++) {
		uint32_t lines;

		f.start = module.base + op_read_u32(&in);
		f.end = module.base + op_read_u32(&in);
		lines = op_read_u32(&in);
		name_len = op_read_u16(&in);
		f.name = read_text(&in, name_len, RANGE_PAD);
		read_lines(&in, lines, addr - module.base, &f);
		if (in.failed)
			break;
		if (name ? strcmp(name, f.name) != 0
			 : !before && (addr < f.start || addr >= f.end))
			continue;
		before = !name && !before && is_prologue(f.name);
		if (before)
			continue;
		*ret = f;
		return 1;
	}
	return in.failed ? -EBADMSG : 0;
}
