/* SPDX-License-Identifier: Apache-2.0 */
/* Reads functions, and keeps them by address and identity. */
#include "runtime/php/function.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"
#include "code/unwind/host/php_text.h"
#include "runtime/php/text.h"

#include "op_user_types.h"

#include "op_php.h"

enum {
	COUNT_MAX = 1 << 24, /* instructions; a larger count is garbage */
};

/* The members of a zend_function that never change. */
struct head {
	uint32_t type;
	uint32_t flags;
	uint64_t name;
	uint64_t scope;
	uint64_t file;
	uint64_t lines; /* the first line, and in its high half the last one */
};

static size_t function_bytes(const void *object)
{
	const struct op_php_function *f = object;

	return sizeof(*f) + f->file + strlen(f->text + f->file) + 1;
}

static const struct op_objects_kind kind = {
	.max = OP_PHP_FUNCTIONS_MAX,
	.bytes_max = OP_PHP_FUNCTIONS_BYTES,
	.bytes = function_bytes,
	.free = free,
};

void op_runtime_php_functions_init(struct op_php_functions *functions,
				   const struct op_memory *memory,
				   const struct op_php_layout *layout, uint32_t for_call)
{
	*functions = (struct op_php_functions){ .memory = memory,
						.layout = layout,
						.for_call = for_call,
						.objects = op_objects_init(&kind) };
}

void op_runtime_php_functions_deinit(struct op_php_functions *functions)
{
	op_objects_deinit(&functions->objects);
}

static uint64_t u64_at(struct op_reader *r, uint64_t off)
{
	op_reader_seek(r, off);
	return op_read_u64(r);
}

static uint32_t u32_at(struct op_reader *r, uint64_t off)
{
	op_reader_seek(r, off);
	return op_read_u32(r);
}

/* Read the members. An internal function is shorter than others. */
static int read_head(const struct op_php_functions *functions,
		     const struct op_memory *memory, uint64_t addr, struct head *ret)
{
	const struct op_php_layout *l = functions->layout;
	uint8_t bytes[OP_PHP_FUNCTION_MAX] = { 0 };
	struct op_reader r = op_reader_init(bytes, sizeof(bytes));
	struct head h = { 0 };
	int error = op_memory_read(memory, addr, bytes, l->function_bytes);

	if (error < 0)
		error = op_memory_read(memory, addr, bytes, OP_PHP_FUNCTION_COMMON);
	if (error < 0)
		return error;
	h.type = bytes[OP_PHP_FUNCTION_TYPE];
	h.flags = u32_at(&r, OP_PHP_FUNCTION_FLAGS);
	h.name = u64_at(&r, OP_PHP_FUNCTION_NAME);
	h.scope = u64_at(&r, OP_PHP_FUNCTION_SCOPE);
	if (h.type == OP_PHP_FUNCTION_USER || h.type == OP_PHP_FUNCTION_EVAL) {
		uint32_t count = u32_at(&r, l->last);

		h.file = u64_at(&r, l->filename);
		h.lines = u64_at(&r, l->line_start);
		if (!u64_at(&r, l->opcodes) || !count || count > COUNT_MAX ||
		    (uint32_t)h.lines > INT32_MAX)
			return -EBADMSG;
	} else if (h.type != OP_PHP_FUNCTION_INTERNAL || !h.name) {
		return -EBADMSG;
	}
	*ret = h;
	return 0;
}

/* The identity of the function at @addr as the step computes it (op_php.h). */
static uint32_t identify(const struct op_php_functions *functions, uint64_t addr,
			 const struct head *h)
{
	const struct op_memory *memory = functions->memory;
	uint64_t id = op_object_id(op_object_id(addr, h->name), h->scope);

	id = op_object_id(id, op_php_text_read(memory, h->name));
	if (h->scope) {
		uint64_t name;

		if (op_memory_read(memory, h->scope + OP_PHP_CLASS_NAME, &name,
				   sizeof(name)) < 0)
			name = 0;
		id = op_object_id(id, op_php_text_read(memory, name));
	}
	if (h->type != OP_PHP_FUNCTION_INTERNAL) {
		id = op_object_id(op_object_id(id, h->file), h->lines);
		id = op_object_id(id, op_php_text_read(memory, h->file));
	}
	return (uint32_t)(id >> 32);
}

/* "Class::function", "function" or nothing. A function of FFI has no class, because it
 * is made for one call of its object's. */
static int read_name(const struct op_php_functions *functions,
		     const struct op_memory *memory, const struct head *h,
		     struct op_strbuf *to)
{
	uint64_t class_name;
	int error = 0;

	if (!h->name)
		return 0;
	if (h->scope) {
		error = op_memory_read(memory, h->scope + OP_PHP_CLASS_NAME, &class_name,
				       sizeof(class_name));
		if (error == 0)
			error = op_runtime_php_string(memory, class_name, to);
		if (error == 0)
			op_strbuf_puts(to, "::");
	} else if (h->type == OP_PHP_FUNCTION_INTERNAL &&
		   h->flags & functions->for_call) {
		op_strbuf_puts(to, "FFI::");
	}
	return error < 0 ? error : op_runtime_php_string(memory, h->name, to);
}

/* The caller frees *@ret with free(). */
static int read_function(const struct op_php_functions *functions,
			 const struct op_memory *memory, const struct head *h,
			 struct op_php_function **ret)
{
	_cleanup_(op_strbuf_deinit) struct op_strbuf text = { 0 };
	struct op_php_function *f;
	uint32_t file;
	int error = read_name(functions, memory, h, &text);

	if (error < 0)
		return error;
	op_strbuf_add(&text, "", 1);
	file = (uint32_t)text.len;
	if (h->file)
		error = op_runtime_php_string(memory, h->file, &text);
	if (error < 0 && error != -ENOMEM)
		text.len = file; /* a name alone is useful, too */
	op_strbuf_add(&text, "", 1);
	if (error == -ENOMEM || text.failed)
		return -ENOMEM;
	f = malloc(sizeof(*f) + text.len);
	if (!f)
		return -ENOMEM;
	*f = (struct op_php_function){ .whole = error == 0,
				       .type = h->type,
				       .first_line = (uint32_t)h->lines,
				       .file = file };
	memcpy(f->text, text.data, text.len);
	*ret = f;
	return 0;
}

static struct op_php_function *find(const struct op_php_functions *functions,
				    uint64_t addr, uint32_t check, uint64_t *ret_at)
{
	struct op_php_function *f =
		op_objects_find(&functions->objects, op_object_id(addr, check), ret_at);

	return f && f->addr == addr && f->check == check ? f : NULL;
}

/* Keep @f, which is consumed. */
static int keep(struct op_php_functions *functions, uint64_t addr, uint32_t check,
		uint64_t at, struct op_php_function *f)
{
	f->addr = addr;
	f->check = check;
	f->window = functions->window;
	return op_objects_keep(&functions->objects, op_object_id(addr, check), f, at);
}

static int read_head_and_id(const struct op_php_functions *functions, uint64_t addr,
			    struct head *ret, uint32_t *ret_check)
{
	int r = read_head(functions, functions->memory, addr, ret);

	if (r == 0)
		*ret_check = identify(functions, addr, ret);
	return r;
}

/* Read the function from the process, if @check shows that it is the right one. */
static int read_living(struct op_php_functions *functions, uint64_t addr, uint32_t check,
		       struct op_php_function **ret)
{
	_cleanup_free_ struct op_php_function *f = NULL;
	struct head head;
	uint32_t is = ~check;
	int r = read_head_and_id(functions, addr, &head, &is);

	if (r == 0 && is == check)
		r = read_function(functions, functions->memory, &head, &f);
	/* it was the same function all the time */
	if (r == 0 && is == check)
		r = read_head_and_id(functions, addr, &head, &is);
	if (r < 0)
		return r;
	if (is != check) {
		functions->changed++;
		return -ESTALE;
	}
	functions->reads++;
	*ret = OP_TAKE_PTR(f);
	return 0;
}

int op_runtime_php_functions_get(struct op_php_functions *functions, uint64_t addr,
				 uint32_t check, const struct op_php_function **ret)
{
	struct op_php_function *f;
	struct op_php_function *living;
	uint64_t at;
	int r;

	op_objects_begin(&functions->objects);
	f = find(functions, addr, check, &at);
	if (f && (f->whole || f->window == functions->window)) {
		*ret = f;
		return 0;
	}
	r = read_living(functions, addr, check, &living);
	if (r == -ENOMEM || (r < 0 && !f))
		return r;
	if (r == 0) {
		f = living;
		r = keep(functions, addr, check, at, f);
		if (r < 0)
			return r;
	}
	f->window = functions->window;
	*ret = f;
	return 0;
}

int op_runtime_php_functions_add(struct op_php_functions *functions, uint64_t addr,
				 uint32_t check, const struct op_memory *copy)
{
	struct op_php_function *f;
	struct head head;
	uint64_t at;
	int r;

	op_objects_begin(&functions->objects);
	if (find(functions, addr, check, &at))
		return 0;
	r = read_head(functions, copy, addr, &head);
	if (r == 0)
		r = read_function(functions, copy, &head, &f);
	if (r < 0)
		return r;
	r = keep(functions, addr, check, at, f);
	/* a part that was cut off can be read while the function lives */
	if (r == 0 && !f->whole)
		f->window--;
	return r;
}
