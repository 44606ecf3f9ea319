/* SPDX-License-Identifier: Apache-2.0 */
/* Reads functions with the lines of their instructions, and keeps them by address or
 * names. */
#include "runtime/php/function.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"
#include "runtime/php/text.h"

#include "op_user_types.h"

#include "op_php.h"

enum {
	CHUNK_OPS = 128,
	COUNT_MAX = 1 << 24, /* instructions; a larger count is garbage */
};

#define KEY_OF_NAMES (UINT64_C(1) << 63)

/* The cache key of a function; an address has 48 bits, a guard 13. */
static uint64_t key_of(uint64_t addr, uint64_t guard)
{
	return addr | guard << 48;
}

/* The members of a zend_function that never change. */
struct head {
	uint64_t type;
	uint64_t name;
	uint64_t scope;
	uint64_t opcodes;
	uint64_t count;
	uint64_t file;
	uint64_t file_guard; /* guard + 1; 0: any file name is accepted */
	uint64_t first_line;
};

static struct op_php_function *function_free(struct op_php_function *f)
{
	if (f) {
		free(f->lines);
		free(f->name);
		free(f);
	}
	return NULL;
}
OP_DEFINE_CLEANUP(struct op_php_function *, function_free)

static void object_free(void *object)
{
	function_free(object);
}

static size_t function_bytes(const void *object)
{
	const struct op_php_function *f = object;

	return sizeof(*f) + (size_t)(f->file - f->name) + strlen(f->file) + 1 +
	       (f->lines ? f->count * sizeof(*f->lines) : 0);
}

static const struct op_objects_kind kind = {
	.max = OP_PHP_FUNCTIONS_MAX,
	.bytes_max = OP_PHP_FUNCTIONS_BYTES,
	.bytes = function_bytes,
	.free = object_free,
};

void op_runtime_php_functions_init(struct op_php_functions *functions,
				   const struct op_memory *memory,
				   const struct op_php_layout *layout)
{
	*functions = (struct op_php_functions){ .memory = memory,
						.layout = layout,
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

/* Has the file name at @addr that guard? */
static bool has_guard(const struct op_php_functions *functions, uint64_t addr,
		      uint64_t guard)
{
	uint64_t head[2]; /* hash, length */

	return addr &&
	       op_memory_read(functions->memory, addr + OP_PHP_STRING_HASH, head,
			      sizeof(head)) == 0 &&
	       op_php_string_guard(head[0], head[1]) >> OP_PHP_GUARD_CUT == guard;
}

/* Read the members. An internal function is shorter than others, so its type is read
 * first. With a @guard, the function must be of that file. */
static int read_head(const struct op_php_functions *functions, uint64_t addr,
		     uint64_t guard, struct head *ret)
{
	const struct op_php_layout *l = functions->layout;
	uint8_t bytes[OP_PHP_FUNCTION_BYTES_MAX] = { 0 };
	struct op_reader r = op_reader_init(bytes, sizeof(bytes));
	struct head h = { 0 };
	int error = op_memory_read(functions->memory, addr, bytes, l->function_bytes);

	if (error < 0)
		error = op_memory_read(functions->memory, addr, bytes,
				       OP_PHP_FUNCTION_COMMON);
	if (error < 0)
		return error;
	h.type = bytes[OP_PHP_FUNCTION_TYPE];
	h.name = u64_at(&r, OP_PHP_FUNCTION_NAME);
	h.scope = u64_at(&r, OP_PHP_FUNCTION_SCOPE);
	if (h.type == OP_PHP_FUNCTION_USER || h.type == OP_PHP_FUNCTION_EVAL) {
		h.opcodes = u64_at(&r, l->opcodes);
		h.count = u32_at(&r, l->last);
		h.file = u64_at(&r, l->filename);
		h.first_line = u32_at(&r, l->line_start);
		if (!h.opcodes || !h.count || h.count > COUNT_MAX ||
		    h.first_line > INT32_MAX)
			return -EBADMSG;
	} else if (h.type != OP_PHP_FUNCTION_INTERNAL || !h.name) {
		return -EBADMSG;
	}
	if (guard && !has_guard(functions, h.file, guard))
		return -EBADMSG;
	*ret = h;
	return 0;
}

static uint64_t cookie_of(const struct head *h)
{
	return op_hash_bytes(h, sizeof(*h), 0);
}

/* Read the lines of the function's instructions, up to the limit. */
static int read_lines(const struct op_php_functions *functions,
		      struct op_php_function *function)
{
	_cleanup_free_ uint32_t *lines = NULL;
	uint8_t chunk[CHUNK_OPS * OP_PHP_OP_BYTES];
	uint32_t at = 0;

	if (!function->count || function->count > OP_PHP_LINES_MAX)
		return 0;
	lines = malloc(function->count * sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	while (at < function->count) {
		uint32_t n = OP_MIN(function->count - at, (uint32_t)CHUNK_OPS);
		struct op_reader r = op_reader_init(chunk, n * OP_PHP_OP_BYTES);
		uint32_t i;

		if (op_memory_read(functions->memory,
				   function->opcodes + at * (uint64_t)OP_PHP_OP_BYTES,
				   chunk, n * OP_PHP_OP_BYTES) < 0)
			return 0; /* a name alone is worth having */
		for (i = 0; i < n; i++)
			lines[at++] = u32_at(&r, i * OP_PHP_OP_BYTES + OP_PHP_OP_LINE);
	}
	function->lines = OP_TAKE_PTR(lines);
	return 0;
}

/* Read the names: "Class::function", "function" or nothing; then the file. */
static int read_names(const struct op_php_functions *functions, const struct head *h,
		      struct op_php_function *function)
{
	_cleanup_(op_strbuf_deinit) struct op_strbuf text = { 0 };
	uint64_t class_name;
	size_t file;
	int error = 0;

	if (h->name && h->scope) {
		error = op_memory_read(functions->memory, h->scope + OP_PHP_CLASS_NAME,
				       &class_name, sizeof(class_name));
		if (error == 0)
			error = op_runtime_php_string(functions->memory, class_name, -1,
						      &text);
		if (error == 0)
			op_strbuf_puts(&text, "::");
	}
	if (error == 0 && h->name)
		error = op_runtime_php_string(functions->memory, h->name, -1, &text);
	if (error < 0)
		return error;
	op_strbuf_add(&text, "", 1);
	file = text.len;
	if (h->file)
		error = op_runtime_php_string(functions->memory, h->file,
					      h->file_guard ? (int)h->file_guard - 1 : -1,
					      &text);
	if (error < 0 && error != -ENOMEM)
		text.len = file; /* a name alone is worth having */
	op_strbuf_add(&text, "", 1);
	if (error == -ENOMEM || text.failed)
		return -ENOMEM;
	function->name = OP_TAKE_PTR(text.data);
	function->file = function->name + file;
	return 0;
}

static int read_function(const struct op_php_functions *functions, uint64_t addr,
			 const struct head *h, struct op_php_function **ret)
{
	_cleanup_(function_freep) struct op_php_function *f = calloc(1, sizeof(*f));
	int error;

	if (!f)
		return -ENOMEM;
	*f = (struct op_php_function){ .addr = addr,
				       .cookie = cookie_of(h),
				       .opcodes = h->opcodes,
				       .count = (uint32_t)h->count,
				       .first_line = (uint32_t)h->first_line,
				       .type = (uint32_t)h->type };
	error = read_names(functions, h, f);
	if (error == 0)
		error = read_lines(functions, f);
	if (error < 0)
		return error;
	*ret = OP_TAKE_PTR(f);
	return 0;
}

static bool has_instruction(const struct op_php_function *f, uint64_t opline)
{
	return opline >= f->opcodes &&
	       opline - f->opcodes < f->count * (uint64_t)OP_PHP_OP_BYTES;
}

/* A known function of that file with an instruction at @opline: the original of a closure
 * whose copy is gone. */
static struct op_php_function *find_copy(const struct op_php_functions *functions,
					 uint64_t guard, uint64_t opline)
{
	size_t i;

	for (i = 0; i < functions->objects.all.len; i++) {
		struct op_php_function *f = functions->objects.all.data[i];

		if (f->guard == guard && has_instruction(f, opline))
			return f;
	}
	return NULL;
}

/* Read the function at @addr, whose head is @head. With a @guard, a request may end in
 * between: nothing that was read after that counts. */
static int read_whole(const struct op_php_functions *functions, uint64_t addr,
		      uint64_t guard, const struct head *head,
		      struct op_php_function **ret)
{
	_cleanup_(function_freep) struct op_php_function *f = NULL;
	struct head after;
	int error = read_function(functions, addr, head, &f);

	if (error < 0)
		return error;
	if (guard && (read_head(functions, addr, guard, &after) < 0 ||
		      cookie_of(&after) != cookie_of(head)))
		return -EBADMSG;
	f->guard = guard;
	*ret = OP_TAKE_PTR(f);
	return 0;
}

int op_runtime_php_functions_get(struct op_php_functions *functions, uint64_t addr,
				 uint64_t guard, uint64_t opline,
				 const struct op_php_function **ret)
{
	uint64_t key = key_of(addr, guard);
	struct op_php_function *f;
	struct head head;
	bool fits = false;
	uint64_t at;
	int error;

	op_objects_begin(&functions->objects);
	f = op_objects_find(&functions->objects, key, &at);
	if (f && (f->addr != addr || f->guard != guard))
		f = NULL; /* a longer address has the same key */
	if (f) {
		fits = opline ? has_instruction(f, opline) : !f->count;
		if (fits && f->window == functions->window) {
			*ret = f;
			return 0;
		}
	}
	error = read_head(functions, addr, guard, &head);
	if (error < 0) {
		/* The process, the request or the closure is gone. */
		if (!fits && opline)
			f = find_copy(functions, guard, opline);
		else if (!fits)
			f = NULL;
		if (!f)
			return error;
		*ret = f;
		return 0;
	}
	if (f && f->cookie == cookie_of(&head)) {
		f->window = functions->window;
		*ret = f;
		return 0;
	}
	functions->changed += f != NULL;
	error = read_whole(functions, addr, guard, &head, &f);
	if (error < 0)
		return error;
	functions->reads++;
	f->window = functions->window;
	error = op_objects_keep(&functions->objects, key, f, at);
	if (error < 0)
		return error;
	*ret = f;
	return 0;
}

int op_runtime_php_functions_by_names(struct op_php_functions *functions,
				      const struct op_php_names *names,
				      const struct op_php_function **ret)
{
	const struct head head = { .type = names->is_eval ? OP_PHP_FUNCTION_EVAL
							  : OP_PHP_FUNCTION_USER,
				   .name = names->name,
				   .scope = names->scope,
				   .file = names->file,
				   .file_guard = names->file_guard + 1,
				   .first_line = names->first_line };
	/* The cache key of these names; addresses never have this bit. */
	uint64_t key = cookie_of(&head) | KEY_OF_NAMES;
	struct op_php_function *made = NULL;
	struct op_php_function *f;
	uint64_t at;
	int error;

	op_objects_begin(&functions->objects);
	f = op_objects_find(&functions->objects, key, &at);
	if (f && f->window == functions->window) {
		*ret = f;
		return 0;
	}
	error = read_function(functions, key, &head, &made);
	if (error == -ENOMEM || (error < 0 && !f))
		return error;
	if (error < 0 || (f && f->file[0] && !made->file[0])) { /* part of it is gone */
		function_free(made);
		f->window = functions->window;
		*ret = f;
		return 0;
	}
	functions->reads++;
	made->window = functions->window;
	error = op_objects_keep(&functions->objects, key, made, at);
	if (error < 0)
		return error;
	*ret = made;
	return 0;
}

uint32_t op_runtime_php_line(const struct op_php_function *f, uint64_t opline)
{
	uint64_t i = (opline - f->opcodes) / OP_PHP_OP_BYTES;

	if (!f->lines || !has_instruction(f, opline))
		return 0;
	return f->lines[i] <= INT32_MAX ? f->lines[i] : 0;
}
