/* SPDX-License-Identifier: Apache-2.0 */
/* Reads code objects, and keeps them by address and identity. */
#include "runtime/python/code.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"
#include "base/strbuf.h"
#include "runtime/python/text.h"

#include "op_python.h"

/* The members of a code object that never change. */
struct head {
	uint64_t file;
	uint64_t name;
	uint64_t lines;
	uint32_t first_line;
	uint32_t check;
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

/* The word of an identity that stands for the texts of @file and the name at *@name. */
static int read_texts(const struct op_memory *memory, uint64_t file, uint64_t *name)
{
	__u64 tail[OP_PYTHON_TAIL_WORDS];
	uint64_t length;
	uint64_t hash;
	int error =
		op_memory_read(memory, *name + OP_PYTHON_NAME_HASH, &hash, sizeof(hash));

	if (error == 0)
		error = op_memory_read(memory, file + OP_PYTHON_TEXT_LENGTH, &length,
				       sizeof(length));
	if (error == 0)
		error = op_memory_read(memory, op_python_tail(file, length), tail,
				       sizeof(tail));
	if (error < 0)
		return error;
	*name = op_python_texts(hash, length, tail);
	return 0;
}

/* @whole: the memory has all objects, not only the copied ones. */
static int read_head(const struct op_python_codes *codes, const struct op_memory *memory,
		     bool whole, uint64_t addr, struct head *ret)
{
	const struct op_python_layout *l = codes->layout;
	size_t len = OP_MIN((size_t)l->code.bytes, (size_t)OP_PYTHON_OBJECT_BYTES);
	uint8_t bytes[OP_PYTHON_OBJECT_BYTES] = { 0 };
	struct op_reader r = op_reader_init(bytes, len);
	struct head h = { 0 };
	uint64_t texts = 0;
	int error = op_memory_read(memory, addr, bytes, len);

	if (error < 0)
		return error;
	h.file = u64_at(bytes, len, l->code.file);
	h.name = u64_at(bytes, len, l->code.qualname ? l->code.qualname : l->code.name);
	h.lines = u64_at(bytes, len, l->code.lines);
	op_reader_seek(&r, l->code.first_line);
	h.first_line = op_read_u32(&r);
	if (codes->code_type && u64_at(bytes, len, l->object_type) != codes->code_type)
		return -EBADMSG;
	if (h.first_line > INT32_MAX)
		h.first_line = 0;
	texts = u64_at(bytes, len, l->code.name);
	if (whole && !l->code.version && (bytes[l->code.flags] & OP_PYTHON_OPTIMIZED))
		error = read_texts(memory, h.file, &texts);
	if (error < 0)
		return error;
	h.check = op_runtime_python_layout_id(l, addr, bytes, len, texts);
	*ret = h;
	return 0;
}

/* Read the code object whose header is @h. The caller frees *@ret with free(). */
static int read_code(const struct op_python_codes *codes, const struct op_memory *memory,
		     const struct head *h, struct op_python_code **ret)
{
	_cleanup_(op_strbuf_deinit) struct op_strbuf text = { 0 };
	struct op_python_code *code;
	bool whole = true;
	uint32_t file;
	uint32_t lines;
	int error = op_runtime_python_str(memory, codes->layout, h->name, &text);

	if (error < 0)
		return error;
	file = (uint32_t)text.len;
	error = op_runtime_python_str(memory, codes->layout, h->file, &text);
	if (error == -ENOMEM)
		return error;
	if (error < 0) { /* a name alone is useful, too */
		text.len = file;
		op_strbuf_add(&text, "", 1);
		whole = false;
	}
	lines = (uint32_t)text.len;
	error = op_runtime_python_bytes(memory, codes->layout, h->lines, &text);
	if (error == -ENOMEM || text.failed)
		return -ENOMEM;
	/* the copied part of the table has the lines of the first places; but in the
	 * oldest form the last line extends to the end */
	if (error < 0 && codes->layout->lines == OP_PYTHON_LNOTAB)
		text.len = lines;
	code = malloc(sizeof(*code) + text.len);
	if (!code)
		return -ENOMEM;
	*code = (struct op_python_code){ .whole = whole && error == 0,
					 .has_lines = error == 0 || text.len > lines,
					 .first_line = h->first_line,
					 .file = file,
					 .lines = lines,
					 .lines_len = (uint32_t)text.len - lines };
	memcpy(code->text, text.data, text.len);
	*ret = code;
	return 0;
}

static struct op_python_code *find(const struct op_python_codes *codes, uint64_t addr,
				   uint32_t check, uint64_t *ret_at)
{
	struct op_python_code *code =
		op_objects_find(&codes->objects, op_object_id(addr, check), ret_at);

	return code && code->addr == addr && code->check == check ? code : NULL;
}

/* Keep @code, which is consumed. */
static int keep(struct op_python_codes *codes, uint64_t addr, uint32_t check, uint64_t at,
		struct op_python_code *code)
{
	code->addr = addr;
	code->check = check;
	code->window = codes->window;
	return op_objects_keep(&codes->objects, op_object_id(addr, check), code, at);
}

/* Read the object from the process, if @check shows that it is the right one. */
static int read_living(struct op_python_codes *codes, uint64_t addr, uint32_t check,
		       struct op_python_code **ret)
{
	_cleanup_free_ struct op_python_code *code = NULL;
	struct head head;
	int r = read_head(codes, codes->memory, true, addr, &head);

	if (r == 0 && head.check == check)
		r = read_code(codes, codes->memory, &head, &code);
	/* it was the same object all the time */
	if (r == 0 && head.check == check)
		r = read_head(codes, codes->memory, true, addr, &head);
	if (r < 0)
		return r;
	if (head.check != check) {
		codes->changed++;
		return -ESTALE;
	}
	codes->reads++;
	*ret = OP_TAKE_PTR(code);
	return 0;
}

int op_runtime_python_codes_get(struct op_python_codes *codes, uint64_t addr,
				uint32_t check, const struct op_python_code **ret)
{
	struct op_python_code *code;
	struct op_python_code *living;
	uint64_t at;
	int r;

	op_objects_begin(&codes->objects);
	code = find(codes, addr, check, &at);
	if (code && (code->whole || code->window == codes->window)) {
		*ret = code;
		return 0;
	}
	r = read_living(codes, addr, check, &living);
	if (r == -ENOMEM || (r < 0 && !code))
		return r;
	if (r == 0) {
		code = living;
		r = keep(codes, addr, check, at, code);
		if (r < 0)
			return r;
	}
	code->window = codes->window;
	*ret = code;
	return 0;
}

int op_runtime_python_codes_add(struct op_python_codes *codes, uint64_t addr,
				uint32_t check, const struct op_memory *copy)
{
	struct op_python_code *code;
	struct head head;
	uint64_t at;
	int r;

	op_objects_begin(&codes->objects);
	if (find(codes, addr, check, &at))
		return 0;
	r = read_head(codes, copy, false, addr, &head);
	if (r == 0)
		r = read_code(codes, copy, &head, &code);
	if (r < 0)
		return r;
	r = keep(codes, addr, check, at, code);
	/* a part that was cut off can be read while the object lives */
	if (r == 0 && !code->whole)
		code->window--;
	return r;
}
