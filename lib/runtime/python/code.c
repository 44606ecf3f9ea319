/* SPDX-License-Identifier: Apache-2.0 */
/* Reads code objects, and keeps them by address. */
#include "runtime/python/code.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/reader.h"
#include "base/strbuf.h"
#include "runtime/python/text.h"

enum {
	CODE_BYTES_MAX = 512,
	TYPE_OFFSET = 8, /* ob_type */
};

/* The members of a code object that never change. */
struct head {
	uint64_t file;
	uint64_t name;
	uint64_t lines;
	uint64_t type;
	uint32_t first_line;
};

static size_t code_bytes(const void *object)
{
	const struct op_python_code *code = object;

	return sizeof(*code) + code->lines + code->lines_len;
}

static const struct op_objects_kind kind = {
	.max = OP_PYTHON_CODES_MAX,
	.bytes_max = OP_PYTHON_CODES_BYTES,
	.bytes = code_bytes,
	.free = free,
};

void op_runtime_python_codes_init(struct op_python_codes *codes,
				  const struct op_memory *memory,
				  const struct op_python_layout *layout,
				  uint64_t code_type)
{
	*codes = (struct op_python_codes){ .memory = memory,
					   .layout = layout,
					   .code_type = code_type,
					   .objects = op_objects_init(&kind) };
}

void op_runtime_python_codes_deinit(struct op_python_codes *codes)
{
	op_objects_deinit(&codes->objects);
}

static uint64_t u64_at(const void *bytes, size_t len, uint64_t off)
{
	struct op_reader r = op_reader_init(bytes, len);

	op_reader_seek(&r, off);
	return op_read_u64(&r);
}

static int read_head(const struct op_python_codes *codes, uint64_t addr, struct head *ret)
{
	const struct op_python_layout *l = codes->layout;
	uint8_t bytes[CODE_BYTES_MAX];
	struct op_reader r = op_reader_init(bytes, l->code.bytes);
	struct head h = { 0 };
	int error;

	if (l->code.bytes > sizeof(bytes))
		return -EBADMSG;
	error = op_memory_read(codes->memory, addr, bytes, l->code.bytes);
	if (error < 0)
		return error;
	h.file = u64_at(bytes, l->code.bytes, l->code.file);
	h.name = u64_at(bytes, l->code.bytes,
			l->code.qualname ? l->code.qualname : l->code.name);
	h.lines = u64_at(bytes, l->code.bytes, l->code.lines);
	h.type = u64_at(bytes, l->code.bytes, TYPE_OFFSET);
	op_reader_seek(&r, l->code.first_line);
	h.first_line = op_read_u32(&r);
	if (codes->code_type && h.type != codes->code_type)
		return -EBADMSG;
	if (h.first_line > INT32_MAX)
		h.first_line = 0;
	*ret = h;
	return 0;
}

static uint64_t cookie_of(const struct head *h)
{
	const uint64_t words[] = { h->file, h->name, h->lines, h->type, h->first_line };

	return op_hash_bytes(words, sizeof(words), 0);
}

/* Read the code object whose header is @h. The caller frees *@ret with free(). */
static int read_code(const struct op_python_codes *codes, uint64_t addr,
		     const struct head *h, struct op_python_code **ret)
{
	_cleanup_(op_strbuf_deinit) struct op_strbuf text = { 0 };
	struct op_python_code *code;
	uint32_t file;
	uint32_t lines;
	int error = op_runtime_python_str(codes->memory, codes->layout, h->name, &text);

	if (error < 0)
		return error;
	file = (uint32_t)text.len;
	error = op_runtime_python_str(codes->memory, codes->layout, h->file, &text);
	if (error == -ENOMEM)
		return error;
	if (error < 0) { /* a name alone is worth having */
		text.len = file;
		op_strbuf_add(&text, "", 1);
	}
	lines = (uint32_t)text.len;
	error = op_runtime_python_bytes(codes->memory, codes->layout, h->lines, &text);
	if (error < 0 && error != -ENOMEM)
		text.len = lines;
	if (error == -ENOMEM || text.failed)
		return -ENOMEM;
	code = malloc(sizeof(*code) + text.len);
	if (!code)
		return -ENOMEM;
	*code = (struct op_python_code){ .addr = addr,
					 .cookie = cookie_of(h),
					 .first_line = h->first_line,
					 .file = file,
					 .lines = lines,
					 .lines_len = (uint32_t)text.len - lines };
	memcpy(code->text, text.data, text.len);
	*ret = code;
	return 0;
}

int op_runtime_python_codes_get(struct op_python_codes *codes, uint64_t addr,
				uint32_t check, const struct op_python_code **ret)
{
	struct op_python_code *code;
	struct head head;
	uint64_t at;
	int error;

	op_objects_begin(&codes->objects);
	code = op_objects_find(&codes->objects, addr, &at);
	if (code && code->check == check && code->window == codes->window) {
		*ret = code;
		return 0;
	}
	error = read_head(codes, addr, &head);
	if (error < 0) {
		/* The process or the object is gone. What is cached is right for frames
		 * with the same check value. */
		if (!code || code->check != check || error == -EBADMSG)
			return error;
		*ret = code;
		return 0;
	}
	if (code && code->cookie == cookie_of(&head)) {
		code->window = codes->window;
		code->check = check;
		*ret = code;
		return 0;
	}
	if (code)
		codes->changed++;
	error = read_code(codes, addr, &head, &code);
	if (error < 0)
		return error;
	codes->reads++;
	code->check = check;
	code->window = codes->window;
	error = op_objects_keep(&codes->objects, addr, code, at);
	if (error < 0)
		return error;
	*ret = code;
	return 0;
}
