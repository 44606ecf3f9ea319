/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/ruby/function.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"
#include "runtime/ruby/label.h"
#include "runtime/ruby/lines.h"

#include "op_user_types.h"

#include "op_ruby.h"

enum {
	SIZE_MAX_INSNS = 1 << 24, /* a larger count is garbage */
	LOCATION_PATH = OP_RUBY_BODY_LOCATION,
	LOCATION_LABEL = OP_RUBY_BODY_LOCATION + 16,
	LOCATION_LINE = OP_RUBY_BODY_LOCATION + 24,
	/* of a body that are read, with its code_location: to its last line */
	BODY_BYTES = OP_RUBY_BODY_BYTES + 16,
	/* of text that begins on the last line of code and ends behind it (<<TEXT) */
	TEXT_LINES = 1000,
	/* of text that the kernel copies: elsewhere, and in a String */
	COPIED_TEXT_BYTES = 192,
	COPIED_SHORT_MAX = 128,
};

static struct op_ruby_function *function_free(struct op_ruby_function *f)
{
	if (f) {
		free(f->lines);
		free(f->name);
		free(f);
	}
	return NULL;
}
OP_DEFINE_CLEANUP(struct op_ruby_function *, function_free)

static void object_free(void *object)
{
	function_free(object);
}

static size_t function_bytes(const void *object)
{
	const struct op_ruby_function *f = object;

	return sizeof(*f) + (size_t)(f->file - f->name) + strlen(f->file) + 1 +
	       f->count * sizeof(*f->lines);
}

static const struct op_objects_kind kind = {
	.max = OP_RUBY_FUNCTIONS_MAX,
	.bytes_max = OP_RUBY_FUNCTIONS_BYTES,
	.bytes = function_bytes,
	.free = object_free,
};

void op_runtime_ruby_functions_init(struct op_ruby_functions *functions,
				    const struct op_memory *memory,
				    const struct op_ruby_layout *layout, uint64_t symbols)
{
	*functions = (struct op_ruby_functions){
		.read = { .memory = memory, .layout = layout, .symbols = symbols },
		.objects = op_objects_init(&kind),
	};
}

void op_runtime_ruby_functions_deinit(struct op_ruby_functions *functions)
{
	op_objects_deinit(&functions->objects);
}

/* A body, and the label and the path, whose Strings have their text in them or elsewhere. The path
 * is a String or the first element of an Array. What is none of these is copied in vain. */
void op_runtime_ruby_function_object(const struct op_ruby_layout *layout,
				     struct op_object_step ret[OP_OBJECT_STEPS])
{
	const struct op_object_step text = { .at = OP_RUBY_STRING_POINTER,
					     .bytes = COPIED_TEXT_BYTES };
	struct op_object_step string = { .bytes = OP_RUBY_HEAD_BYTES,
					 .most = COPIED_SHORT_MAX };
	uint8_t i;

	if (layout->string_embedded != OP_RUBY_STRING_LENGTH)
		string.length_at = OP_RUBY_STRING_LENGTH;
	ret[0] = (struct op_object_step){ .bytes = BODY_BYTES };
	ret[1] = ret[3] = ret[5] = string;
	ret[1].at = LOCATION_LABEL;
	ret[3].at = LOCATION_PATH;
	ret[5].piece = 3;
	ret[5].at = OP_RUBY_ARRAY_EMBEDDED;
	for (i = 2; i <= 6; i += 2) {
		ret[i] = text;
		ret[i].piece = i - 1;
	}
}

static uint64_t u64_at(struct op_reader *r, size_t at)
{
	op_reader_seek(r, at);
	return op_read_u64(r);
}

static uint32_t u32_at(struct op_reader *r, size_t at)
{
	op_reader_seek(r, at);
	return op_read_u32(r);
}

/* The path of a String, or the first one of [path, real path]. */
static int read_path(const struct op_ruby_objects *read, uint64_t addr,
		     struct op_strbuf *to)
{
	uint64_t path;
	int r = op_runtime_ruby_string(read, addr, to);

	if (r != -EBADMSG)
		return r;
	r = op_runtime_ruby_element(read, addr, 0, &path);
	return r < 0 ? r : op_runtime_ruby_string(read, path, to);
}

/* Read the lines of a sequence. Without them a name alone is useful, too. */
static int read_lines(const struct op_ruby_functions *functions, uint64_t body,
		      uint32_t count, struct op_ruby_function *f)
{
	const struct op_ruby_layout *l = functions->read.layout;
	uint8_t bytes[OP_RUBY_INSNS_INDEX + 8];
	struct op_reader in = op_reader_init(bytes, sizeof(bytes));
	_cleanup_free_ uint32_t *lines = NULL;
	struct op_ruby_insns insns;
	int r;

	if (!count || count > OP_RUBY_LINES_MAX)
		return 0;
	lines = malloc(count * sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	r = op_memory_read(functions->read.memory, body + l->insns, bytes, sizeof(bytes));
	if (r < 0)
		return 0;
	insns = (struct op_ruby_insns){
		.entries = u64_at(&in, 0),
		.positions = u64_at(&in, OP_RUBY_INSNS_POSITIONS),
		.index = u64_at(&in, OP_RUBY_INSNS_INDEX),
		.len = u32_at(&in, OP_RUBY_INSNS_SIZE),
		.entry_bytes = l->insn_bytes,
	};
	r = op_runtime_ruby_lines(functions->read.memory, &insns, count, lines);
	if (r == 0) {
		f->lines = OP_TAKE_PTR(lines);
		f->count = count;
	}
	return r == -ENOMEM ? r : 0;
}

/* The guard of the body whose first bytes are in @in. */
static uint32_t guard_of(struct op_reader *in)
{
	return op_ruby_body_guard(u64_at(in, OP_RUBY_BODY_TYPE),
				  u64_at(in, LOCATION_PATH), u64_at(in, LOCATION_LABEL),
				  u64_at(in, LOCATION_LINE));
}

/* Read the words of the method entry at @addr: def, called_id, owner. */
static int read_entry(const struct op_ruby_objects *read, uint64_t addr,
		      uint64_t ret[OP_RUBY_METHOD_BYTES / 8], uint32_t *ret_guard)
{
	int r = op_memory_read(read->memory, addr + OP_RUBY_METHOD_DEF, ret,
			       OP_RUBY_METHOD_BYTES);

	*ret_guard = r < 0 ? 0 : op_ruby_guard(ret[0], ret[1], ret[2], 0);
	return r;
}

/* Read the label of the sequence with the body at f->addr, whose own label is at
 * @label. */
static int read_label(const struct op_ruby_objects *read,
		      const struct op_ruby_function *f, uint64_t label,
		      struct op_strbuf *text)
{
	uint64_t words[OP_RUBY_METHOD_BYTES / 8] = { 0 };
	uint32_t guard;
	int r = 0;

	if (!read->layout->parent)
		return op_runtime_ruby_string(read, label, text);
	if (f->method) {
		r = read_entry(read, f->method & OP_RUBY_ADDRESS_MASK, words, &guard);
		if (r == 0 &&
		    guard >> OP_RUBY_GUARD_CUT != f->method >> OP_RUBY_GUARD_SHIFT)
			r = -EBADMSG;
	}
	return r < 0 ? r : op_runtime_ruby_label(read, f->addr, words[2], text);
}

struct sequence {
	uint32_t count; /* instructions */
	/* where its code begins and ends; 0: unknown */
	uint32_t first_line;
	uint32_t last_line;
};

/* Read the label and then the file of the sequence with the body at f->addr. */
static int read_sequence(const struct op_ruby_objects *read, struct op_ruby_function *f,
			 struct op_strbuf *text, size_t *ret_file, struct sequence *ret)
{
	uint8_t bytes[BODY_BYTES];
	size_t begin = LOCATION_LINE + (read->layout->line_shift ? 12 : 8);
	struct op_reader in = op_reader_init(bytes, sizeof(bytes));
	int r = op_memory_read(read->memory, f->addr, bytes, sizeof(bytes));

	if (r < 0)
		return r;
	ret->count = u32_at(&in, OP_RUBY_BODY_SIZE);
	if (guard_of(&in) != f->guard || ret->count > SIZE_MAX_INSNS)
		return -EBADMSG;
	f->first_line = u32_at(&in, LOCATION_LINE) >> read->layout->line_shift;
	if (f->first_line > INT32_MAX)
		f->first_line = 0;
	/* that of a rescue begins behind the line that is its first */
	ret->first_line = OP_MIN(u32_at(&in, begin), f->first_line);
	ret->last_line = u32_at(&in, begin + 8);
	r = read_label(read, f, u64_at(&in, LOCATION_LABEL), text);
	if (r < 0)
		return r;
	op_strbuf_add(text, "", 1);
	*ret_file = text->len;
	r = read_path(read, u64_at(&in, LOCATION_PATH), text);
	if (r < 0)
		text->len = *ret_file;
	return r;
}

static bool are_lines_of(const struct sequence *sequence,
			 const struct op_ruby_function *f)
{
	uint32_t i;

	if (!sequence->first_line || sequence->last_line < sequence->first_line ||
	    sequence->last_line > INT32_MAX)
		return true;
	for (i = 0; i < f->count; i++) {
		if (f->lines[i] && (f->lines[i] < sequence->first_line ||
				    f->lines[i] > sequence->last_line + TEXT_LINES))
			return false;
	}
	return true;
}

/* Read the lines of such a sequence, which is still there. */
static int read_lines_of(const struct op_ruby_functions *functions,
			 struct op_ruby_function *f, const struct sequence *sequence)
{
	uint8_t bytes[OP_RUBY_BODY_BYTES];
	struct op_reader in = op_reader_init(bytes, sizeof(bytes));
	int r = read_lines(functions, f->addr, sequence->count, f);

	if (r < 0)
		return r;
	/* Ruby frees the lines of dropped code before the code. */
	if (!are_lines_of(sequence, f))
		return -EBADMSG;
	/* The object may have gone in between. Then nothing that was read after that
	 * counts. */
	r = op_memory_read(functions->read.memory, f->addr, bytes, sizeof(bytes));
	return r < 0 || guard_of(&in) == f->guard ? r : -EBADMSG;
}

/* Read the name of the method in C with the entry at f->addr. */
static int read_method(const struct op_ruby_functions *functions,
		       struct op_ruby_function *f, struct op_strbuf *text,
		       size_t *ret_file)
{
	uint64_t words[OP_RUBY_METHOD_BYTES / 8];
	uint32_t guard;
	uint64_t id;
	int r = read_entry(&functions->read, f->addr, words, &guard);

	if (r < 0)
		return r;
	if (guard != f->guard)
		return -EBADMSG;
	r = op_memory_read(functions->read.memory, words[0] + OP_RUBY_DEF_ORIGINAL_ID,
			   &id, sizeof(id));
	if (r == 0 && functions->read.layout->parent)
		r = op_runtime_ruby_class(&functions->read, words[2], text);
	if (r == 0)
		r = op_runtime_ruby_symbol(&functions->read, id, text);
	op_strbuf_add(text, "", 1);
	*ret_file = text->len;
	return r;
}

/* Read the code of Ruby at f->addr. @copy: of what names it; NULL: the process has it. */
static int read_code(const struct op_ruby_functions *functions,
		     struct op_ruby_function *f, const struct op_memory *copy,
		     struct op_strbuf *text, size_t *ret_file)
{
	struct op_ruby_objects read = functions->read;
	struct sequence sequence = { 0 };
	int r;

	if (copy)
		read.memory = copy;
	r = read_sequence(&read, f, text, ret_file, &sequence);
	if (r < 0 && (r == -ENOMEM || copy || !*ret_file))
		return r; /* else a name alone is useful, too */
	r = read_lines_of(functions, f, &sequence);
	if (r == 0 || r == -ENOMEM || !copy)
		return r;
	free(f->lines);
	f->lines = NULL;
	f->count = 0;
	return 0;
}

static int read_function(const struct op_ruby_functions *functions,
			 const uint64_t words[3], const struct op_memory *copy,
			 struct op_ruby_function **ret)
{
	_cleanup_(op_strbuf_deinit) struct op_strbuf text = { 0 };
	_cleanup_(function_freep) struct op_ruby_function *f = calloc(1, sizeof(*f));
	size_t file = 0;
	int r;

	if (!f)
		return -ENOMEM;
	f->addr = words[0] & OP_FRAME_ADDRESS_MASK;
	f->method = words[2];
	f->guard = (uint32_t)(words[1] >> 32);
	f->window = functions->window;
	if ((uint32_t)words[1] == OP_RUBY_IN_C)
		r = read_method(functions, f, &text, &file);
	else
		r = read_code(functions, f, copy, &text, &file);
	if (r < 0)
		return r;
	op_strbuf_add(&text, "", 1);
	if (text.failed)
		return -ENOMEM;
	f->name = OP_TAKE_PTR(text.data);
	f->file = f->name + file;
	*ret = OP_TAKE_PTR(f);
	return 0;
}

/* The function of a frame, or NULL, with its key and its place. */
static struct op_ruby_function *find(const struct op_ruby_functions *functions,
				     const uint64_t words[3], uint64_t *ret_key,
				     uint64_t *ret_at)
{
	uint64_t addr = words[0] & OP_FRAME_ADDRESS_MASK;
	uint32_t guard = (uint32_t)(words[1] >> 32);
	/* code that is dropped after it has run is identified by its guard alone */
	uint64_t of = (uint32_t)words[1] != OP_RUBY_IN_C && (guard & 1) ? 0 : addr;
	struct op_ruby_function *f;

	*ret_key = of ^ (uint64_t)guard << 32 ^ words[2] << 5;
	f = op_objects_find(&functions->objects, *ret_key, ret_at);
	if (f && ((of && f->addr != of) || f->guard != guard || f->method != words[2]))
		return NULL; /* another one has the same key */
	return f;
}

int op_runtime_ruby_functions_add(struct op_ruby_functions *functions, uint64_t addr,
				  uint32_t guard, const struct op_memory *copy)
{
	const uint64_t words[3] = { addr, (uint64_t)guard << 32, 0 };
	struct op_ruby_function *f = NULL;
	uint64_t key;
	uint64_t at;
	int r;

	op_objects_begin(&functions->objects);
	(void)find(functions, words, &key, &at);
	r = read_function(functions, words, copy, &f);
	return r < 0 ? r : op_objects_keep(&functions->objects, key, f, at);
}

int op_runtime_ruby_functions_get(struct op_ruby_functions *functions,
				  const uint64_t words[3],
				  const struct op_ruby_function **ret)
{
	struct op_ruby_function *made = NULL;
	struct op_ruby_function *f;
	uint64_t key;
	uint64_t at;
	int r;

	op_objects_begin(&functions->objects);
	f = find(functions, words, &key, &at);
	if (f && f->window == functions->window) {
		*ret = f;
		return 0;
	}
	r = read_function(functions, words, NULL, &made);
	if (r < 0 && (r == -ENOMEM || !f))
		return r;
	if (r < 0) { /* it is gone, and the frame belonged to it */
		f->window = functions->window;
		*ret = f;
		return 0;
	}
	functions->reads++;
	r = op_objects_keep(&functions->objects, key, made, at);
	if (r < 0)
		return r;
	*ret = made;
	return 0;
}

uint32_t op_runtime_ruby_line(const struct op_ruby_function *f, const uint64_t words[2])
{
	uint32_t next = (uint32_t)words[1];
	uint32_t i = next ? next - 1 : 0;

	return f->lines && i < f->count ? f->lines[i] : 0;
}
