/* SPDX-License-Identifier: Apache-2.0 */
/* Reads SharedFunctionInfo objects and the names in their ScopeInfos. */
#include "runtime/node/functions.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/reader.h"

#include "op_user_types.h"

#include "op_node.h"

enum {
	SHARED_BYTES = 128,
	SCOPE_LOCALS = 2,      /* the word with their number */
	SCOPE_INLINE_MAX = 75, /* if there are more locals, their names are in a table */
	SCOPE_SEARCH = 8,      /* words after the locals that are searched for a name */
	SCOPE_NAME = 2,	       /* the first of these words, which always exist */
	LOCALS_MAX = 1 << 22,
	POSITION_MAX = 1 << 29,
	NO_TOKEN = 0xffff,
	KIND_MASK = 0x1f, /* of a SharedFunctionInfo's flags, which are before its id */
};

/* The members read of a SharedFunctionInfo. */
struct head {
	uint64_t name;
	uint64_t script;
	uint32_t id;
	uint32_t kind;	/* V8's FunctionKind */
	uint16_t token; /* characters from the word `function` to the parameters */
};

enum {
	TAG = 1, /* of a pointer */
	/* bytes of a copy: those of objects, and most of their characters or elements */
	SCOPE_BYTES = 128,
	SCRIPT_BYTES = 128,
	STRING_BYTES = 16,
	STRING_LENGTH = 12,
	PARTS_BYTES = 32, /* of a string with other strings as parts */
	PART_FIRST = 16,
	NAME_CHARS = 128,
	FILE_CHARS = 256,
	TABLE_BYTES = 512,
	SOURCE_CHARS = 512,
	BYTE_MAX = 255,
};

/* Pieces of a copy. */
enum {
	SHARED,
	SCOPE,
	SCOPE_WORDS, /* those of read_scope() */
	SCOPE_STRING,
	SCOPE_STRING_LAST = SCOPE_STRING + 2,
	SCRIPT,
	SCRIPT_NAME,
	SCRIPT_URL,
	BYTECODE,
	TABLE,
	SOURCE,
	SOURCE_FIRST,
	PIECES,
};

static struct op_object_step piece(uint8_t of, uint32_t at, uint32_t bytes)
{
	return (struct op_object_step){
		.piece = of, .at = (uint8_t)at, .bytes = (uint8_t)bytes, .tag = TAG
	};
}

static struct op_object_step string(uint8_t of, uint32_t at, uint8_t bytes, uint16_t most)
{
	struct op_object_step step = piece(of, at, bytes);

	step.length_at = STRING_LENGTH;
	step.most = most;
	return step;
}

void op_runtime_node_copies(const struct op_node_layout *l,
			    struct op_object_step ret[OP_OBJECT_STEPS])
{
	uint32_t names = l->scope_slots + l->scope_fixed * 8;
	uint8_t i;

	_Static_assert((int)PIECES <= (int)OP_OBJECT_STEPS, "there are so many");
	/* pointers of 4 bytes are not followed */
	if (op_node_is_compressed(l) || l->array_bytes > BYTE_MAX ||
	    l->array_positions > BYTE_MAX || l->script_url > BYTE_MAX || names > BYTE_MAX)
		return;
	ret[SHARED] = piece(SHARED, 0, l->shared_id + 4);
	ret[SCOPE] = piece(SHARED, l->shared_name, SCOPE_BYTES);
	/* each local has two words; the number of locals is the upper half of its word */
	ret[SCOPE_WORDS] = piece(SCOPE, names, SCOPE_SEARCH * 8);
	ret[SCOPE_WORDS].tag = SCOPE;
	ret[SCOPE_WORDS].width_at = (uint8_t)(l->scope_slots + SCOPE_LOCALS * 8 + 4);
	ret[SCOPE_WORDS].most = OP_OBJECT_ELEMENT | OP_OBJECT_PAIRS;
	for (i = 0; SCOPE_STRING + i <= SCOPE_STRING_LAST; i++)
		ret[SCOPE_STRING + i] =
			string(SCOPE_WORDS, i * 8U, STRING_BYTES, NAME_CHARS);
	ret[SCRIPT] = piece(SHARED, l->shared_script, SCRIPT_BYTES);
	ret[SCRIPT_NAME] = string(SCRIPT, OP_NODE_SCRIPT_NAME, STRING_BYTES, FILE_CHARS);
	ret[SCRIPT_URL] = string(SCRIPT, l->script_url, STRING_BYTES, FILE_CHARS);
	ret[BYTECODE] = piece(SHARED, OP_NODE_SHARED_CODE, l->array_bytes);
	ret[TABLE] = string(BYTECODE, l->array_positions, OP_NODE_ELEMENTS, TABLE_BYTES);
	if (l->raw_lengths)
		ret[TABLE].length_at = OP_NODE_LENGTH;
	ret[SOURCE] = string(SCRIPT, OP_NODE_SCRIPT_SOURCE, PARTS_BYTES, SOURCE_CHARS);
	ret[SOURCE_FIRST] = string(SOURCE, PART_FIRST, STRING_BYTES, SOURCE_CHARS);
}

void op_runtime_node_functions_init(struct op_node_functions *functions,
				    const struct op_node_heap *heap)
{
	*functions = (struct op_node_functions){ .heap = heap };
	op_runtime_node_scripts_init(&functions->scripts, heap);
}

static void drop_all(struct op_node_functions *functions)
{
	struct op_node_function *f;

	op_vec_foreach(f, &functions->all)
		free(f->name);
	functions->all.len = 0;
	op_map64_clear(&functions->by_object);
}

void op_runtime_node_functions_deinit(struct op_node_functions *functions)
{
	drop_all(functions);
	op_vec_clear(&functions->all);
	op_runtime_node_scripts_deinit(&functions->scripts);
}

void op_runtime_node_functions_trim(struct op_node_functions *functions)
{
	if (functions->all.len >= OP_NODE_FUNCTIONS_MAX)
		drop_all(functions);
	op_runtime_node_scripts_trim(&functions->scripts);
}

/* The word at @offset of what was read of @object. */
static uint64_t word_at(const struct op_node_heap *heap, struct op_reader *r,
			uint64_t object, uint32_t offset)
{
	op_reader_seek(r, offset);
	if (!op_node_is_compressed(heap->layout))
		return op_read_u64(r);
	return op_node_whole(op_node_cage(object), op_read_u32(r));
}

static int read_head(const struct op_node_heap *heap, uint64_t object, struct head *ret)
{
	const struct op_node_layout *l = heap->layout;
	uint8_t bytes[SHARED_BYTES];
	/* Not more, because the next page may not be mapped. */
	size_t len = l->shared_id + sizeof(uint32_t);
	struct op_reader r = op_reader_init(bytes, len);
	int type = op_runtime_node_type(heap, object);
	int error;

	if (type < 0)
		return type;
	if ((uint32_t)type != l->type.shared || len > sizeof(bytes))
		return -EBADMSG;
	error = op_memory_read(heap->memory, object - 1, bytes, len);
	if (error < 0)
		return error;
	ret->name = word_at(heap, &r, object, l->shared_name);
	ret->script = word_at(heap, &r, object, l->shared_script);
	op_reader_seek(&r, l->shared_token);
	ret->token = op_read_u16(&r);
	op_reader_seek(&r, l->shared_id - sizeof(uint32_t));
	ret->kind = op_read_u32(&r) & KIND_MASK;
	ret->id = op_read_u32(&r);
	return r.failed ? -EBADMSG : 0;
}

/* Are the two small integers the start and the end of a function in its source? */
static bool is_extent(uint64_t first, uint64_t second)
{
	return op_node_is_small(first) && op_node_is_small(second) &&
	       op_node_small(first) >= 0 && op_node_small(first) < POSITION_MAX &&
	       op_node_small(second) > op_node_small(first) + 1;
}

/*
 * The words of a ScopeInfo are {flags, parameters, locals, [start, end,] names of the
 * locals, their kinds, [a class's], [the function's name, its place], [a name inferred
 * by the parser], [start, end], ...}. The flags determine which of these exist, and
 * differ between versions. So the first string after the locals that is not empty
 * counts as the name.
 */
static int read_scope(const struct op_node_heap *heap, uint64_t object,
		      struct op_strbuf *name, int32_t *ret_start, int32_t *ret_end)
{
	const struct op_node_layout *l = heap->layout;
	uint64_t word[SCOPE_SEARCH];
	uint64_t locals;
	uint32_t at = l->scope_slots + op_node_offset(l, l->scope_fixed * 8);
	size_t i;
	int r;

	r = op_runtime_node_word(heap, object,
				 l->scope_slots + op_node_offset(l, SCOPE_LOCALS * 8),
				 &locals);
	if (r < 0)
		return r;
	if (!op_node_is_small(locals) || op_node_small(locals) < 0 ||
	    op_node_small(locals) > LOCALS_MAX)
		return -EBADMSG;
	if (op_node_small(locals) < SCOPE_INLINE_MAX)
		at += op_node_offset(l, (uint32_t)op_node_small(locals) * 16);
	else
		at += op_node_offset(l, 8 + 8 * (uint32_t)op_node_small(locals));
	/* The object's size is unknown, and after it may be unmapped memory: read word by
	 * word then. */
	r = op_runtime_node_words(heap, object, at, word, SCOPE_SEARCH);
	for (i = 0; r == -EFAULT && i < SCOPE_SEARCH; i++)
		if (op_runtime_node_word(heap, object,
					 at + op_node_offset(l, (uint32_t)i * 8),
					 &word[i]) < 0)
			word[i] = 0;
	if (r < 0 && r != -EFAULT)
		return r;
	for (i = 0; i < SCOPE_SEARCH && !name->len; i++) {
		if (!op_node_is_object(word[i]))
			continue;
		r = op_runtime_node_type(heap, word[i]);
		if (r >= 0 && (uint32_t)r < l->type.first_nonstring)
			r = op_runtime_node_string(heap, word[i], OP_NODE_NAME_MAX, name);
		/* The later words may belong to another object. */
		if (r < 0 && i < SCOPE_NAME)
			return r;
	}
	*ret_start = -1;
	if (l->scope_position) {
		r = op_runtime_node_words(
			heap, object,
			l->scope_slots + op_node_offset(l, l->scope_position * 8), word,
			2);
		if (r == 0 && is_extent(word[0], word[1])) {
			*ret_start = op_node_small(word[0]);
			*ret_end = op_node_small(word[1]);
		}
		return 0;
	}
	for (i = 0; i + 1 < SCOPE_SEARCH; i++)
		if (is_extent(word[i], word[i + 1])) {
			*ret_start = op_node_small(word[i]);
			*ret_end = op_node_small(word[i + 1]);
			break;
		}
	return 0;
}

/* The name of a class's initializer in V8's stack traces, if the class has a name;
 * otherwise NULL. */
static const char *initializer_name(const struct op_node_layout *l, uint32_t kind)
{
	/* kinds for members; static ones have as many */
	uint32_t kinds = l->initializer.static_members - l->initializer.members;

	if (!l->initializer.members || kind < l->initializer.members)
		return NULL;
	if (kind < l->initializer.static_members)
		return "<instance_members_initializer>";
	return kind - l->initializer.static_members < kinds ? "<static_initializer>"
							    : NULL;
}

static int read_function(const struct op_node_heap *heap, const struct head *h,
			 struct op_node_function *ret)
{
	const char *initializer = initializer_name(heap->layout, h->kind);
	_cleanup_(op_strbuf_deinit) struct op_strbuf name = { 0 };
	int32_t start = -1;
	int32_t end = 0;
	int r = 0;

	/* A small integer means that there is no name. A word that cannot be read may be
	 * an object that the collector is moving. */
	if (op_node_is_object(h->name))
		r = op_runtime_node_type(heap, h->name);
	if (r > 0 && (uint32_t)r == heap->layout->type.scope)
		r = read_scope(heap, h->name, &name, &start, &end);
	else if (op_node_is_object(h->name) && r >= 0)
		r = op_runtime_node_string(heap, h->name, OP_NODE_NAME_MAX, &name);
	if (name.failed)
		r = -ENOMEM;
	if (r < 0)
		return r;
	ret->name = strdup(initializer ? initializer
			   : name.len  ? name.data
				       : "(anonymous)");
	if (!ret->name)
		return -ENOMEM;
	if (start >= 0 && h->token != NO_TOKEN && h->token <= start)
		start -= h->token;
	ret->start = start;
	ret->end = end;
	ret->script = h->script;
	return 0;
}

/* Store @fresh in the place of @old, or at the end. Takes its name. */
static int keep(struct op_node_functions *functions, struct op_node_function *old,
		struct op_node_function *fresh, const struct op_node_function **ret)
{
	if (old) {
		free(old->name);
	} else {
		if (op_map64_put(&functions->by_object, fresh->object,
				 functions->all.len) == 0)
			old = op_vec_push(&functions->all);
	}
	if (!old) {
		(void)op_map64_remove(&functions->by_object, fresh->object);
		free(fresh->name);
		return -ENOMEM;
	}
	*old = *fresh;
	*ret = old;
	return 0;
}

/* The bytes of a script's id, as the kernel reads them: 0 if it could not. */
static uint32_t script_number(const struct op_node_heap *heap, uint64_t script)
{
	uint32_t number = 0;

	if (op_memory_read(heap->memory, script - 1 + op_node_script_number(heap->layout),
			   &number, sizeof(number)) < 0)
		number = 0;
	return number;
}

static uint32_t check_of(const struct op_node_heap *heap, const struct head *h)
{
	return op_node_check(h->id, (uint32_t)h->name, (uint32_t)h->script,
			     script_number(heap, h->script));
}

int op_runtime_node_function_check(const struct op_node_heap *heap, uint64_t object,
				   uint32_t *ret)
{
	struct head head;
	int r = read_head(heap, object, &head);

	if (r == 0)
		*ret = check_of(heap, &head);
	return r;
}

int op_runtime_node_function(struct op_node_functions *functions, uint64_t object,
			     uint32_t check, const struct op_node_function **ret)
{
	struct op_node_function fresh = { .object = object, .check = check };
	const struct op_node_script *script;
	struct op_node_function *f = NULL;
	struct head head;
	uint32_t now;
	uint64_t at;
	int r;

	if (op_map64_get(&functions->by_object, object, &at))
		f = &functions->all.data[at];
	if (f && f->check == check) {
		*ret = f;
		return 0;
	}
	r = read_head(functions->heap, object, &head);
	if (r < 0)
		return r;
	if (check_of(functions->heap, &head) != check)
		return -ESTALE;
	r = read_function(functions->heap, &head, &fresh);
	if (r < 0)
		return r;
	r = op_runtime_node_script(&functions->scripts, head.script, NULL, &script);
	/* What was read is its own only if it has not moved meanwhile. */
	if (r != -ENOMEM) {
		int again = op_runtime_node_function_check(functions->heap, object, &now);

		if (again == -EBADMSG || again == -EFAULT || (again == 0 && now != check))
			r = -ESTALE;
	}
	if (r == -ENOMEM || r == -ESTALE) {
		free(fresh.name);
		return r;
	}
	fresh.script_id = r == 0 ? script->id : 0;
	functions->reads++;
	return keep(functions, f, &fresh, ret);
}
