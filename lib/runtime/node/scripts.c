/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the names and line ends of scripts. */
#include "runtime/node/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"

enum {
	SCRIPT_WORDS = 9,
	CHUNK = 4096,
	LINE_SEPARATOR = 0x2028,
	PARAGRAPH_SEPARATOR = 0x2029,
	PLACE_MAX = 1 << 20, /* line or column at which a script begins in its file */
};

/* The members read of a Script. */
struct head {
	uint64_t source;
	uint64_t name;
	uint64_t line_offset;
	uint64_t column_offset;
	uint64_t line_ends;
	uint64_t id;
	uint64_t url; /* sourceURL= in its text; 0: none */
};

/* The ends of lines: */
struct ends {
	OP_VEC(uint32_t) at;
	size_t room; /* for so many */
};

void op_runtime_node_scripts_init(struct op_node_scripts *scripts,
				  const struct op_node_heap *heap)
{
	*scripts = (struct op_node_scripts){ .heap = heap };
}

static void clear(struct op_node_script *script)
{
	free(script->name);
	free(script->ends);
}

static void drop_all(struct op_node_scripts *scripts)
{
	struct op_node_script *script;

	op_vec_foreach(script, &scripts->all)
		clear(script);
	scripts->all.len = 0;
	scripts->lines = 0;
	scripts->full = false;
	op_map64_clear(&scripts->by_object);
}

void op_runtime_node_scripts_deinit(struct op_node_scripts *scripts)
{
	drop_all(scripts);
	op_vec_clear(&scripts->all);
}

void op_runtime_node_scripts_trim(struct op_node_scripts *scripts)
{
	if (scripts->all.len >= OP_NODE_SCRIPTS_MAX || scripts->full)
		drop_all(scripts);
}

static int read_head(const struct op_node_heap *heap, uint64_t object, struct head *ret)
{
	uint64_t word[SCRIPT_WORDS];
	int type = op_runtime_node_type(heap, object);
	int error;

	if (type < 0)
		return type;
	if ((uint32_t)type != heap->layout->type.script)
		return -EBADMSG;
	error = op_runtime_node_words(heap, object, 0, word, SCRIPT_WORDS);
	if (error < 0)
		return error;
	ret->source = word[OP_NODE_SCRIPT_SOURCE / 8];
	ret->name = word[OP_NODE_SCRIPT_NAME / 8];
	ret->line_offset = word[OP_NODE_SCRIPT_LINE_OFFSET / 8];
	ret->column_offset = word[OP_NODE_SCRIPT_COLUMN_OFFSET / 8];
	ret->line_ends = word[OP_NODE_SCRIPT_LINE_ENDS / 8];
	ret->id = word[OP_NODE_SCRIPT_ID / 8];
	ret->url = 0;
	if (heap->layout->script_url)
		(void)op_runtime_node_word(heap, object, heap->layout->script_url,
					   &ret->url);
	return 0;
}

static int add_end(struct ends *to, uint64_t at)
{
	uint32_t *end;

	if (to->at.len >= to->room)
		return -EFBIG;
	end = op_vec_push(&to->at);
	if (!end)
		return -ENOMEM;
	*end = (uint32_t)at;
	return 0;
}

/* Read the line ends that V8 has recorded: an array of small integers. */
static int ends_noted(const struct op_node_heap *heap, uint64_t object, struct ends *to)
{
	uint64_t words[CHUNK / 8];
	uint32_t done = 0;
	uint32_t len;
	int r = op_runtime_node_length(heap, object, &len);

	if (r < 0)
		return r;
	if (!len || len > OP_NODE_LINES_MAX)
		return -EBADMSG;
	if (len > to->room)
		return -EFBIG;
	while (r == 0 && done < len) {
		size_t n = OP_MIN(len - done, OP_ARRAY_SIZE(words));
		size_t i;

		r = op_runtime_node_words(
			heap, object,
			op_node_offset(heap->layout, OP_NODE_ELEMENTS + done * 8), words,
			n);
		for (i = 0; r == 0 && i < n; i++) {
			if (!op_node_is_small(words[i]))
				return -EBADMSG;
			r = add_end(to, (uint32_t)op_node_small(words[i]));
		}
		done += (uint32_t)n;
	}
	return r;
}

/* Find the characters that end a line: \n, \r without a following \n, and two more of
 * Unicode. */
static int ends_in(struct op_reader *r, uint32_t wide, uint64_t at, bool *cr,
		   struct ends *to)
{
	int error = 0;

	while (op_reader_left(r) >= wide && error == 0) {
		uint32_t c = wide == 2 ? op_read_u16(r) : op_read_u8(r);

		if (*cr && c != '\n')
			error = add_end(to, at - 1);
		*cr = c == '\r';
		if (error == 0 &&
		    (c == '\n' || c == LINE_SEPARATOR || c == PARAGRAPH_SEPARATOR))
			error = add_end(to, at);
		at++;
	}
	return error;
}

/* Find the line ends in the source text. */
static int ends_searched(const struct op_node_heap *heap, uint64_t source,
			 struct ends *to)
{
	struct op_node_chars chars;
	uint8_t bytes[CHUNK];
	uint64_t done = 0;
	bool cr = false;
	int r = op_runtime_node_chars(heap, source, &chars);

	if (r == 0 && chars.len * chars.wide > OP_NODE_SOURCE_MAX)
		r = -EBADMSG;
	while (r == 0 && done < chars.len) {
		size_t n = OP_MIN(chars.len - done, sizeof(bytes) / chars.wide);
		struct op_reader reader = op_reader_init(bytes, n * chars.wide);

		r = op_memory_read(heap->memory, chars.addr + done * chars.wide, bytes,
				   n * chars.wide);
		if (r == 0)
			r = ends_in(&reader, chars.wide, done, &cr, to);
		done += n;
	}
	if (r == 0)
		r = add_end(to, chars.len);
	return r;
}

/* Find where the lines end, and make @to as small as they are. Returns -EFBIG if they do
 * not fit. */
static int read_ends(const struct op_node_heap *heap, const struct head *h,
		     struct ends *to)
{
	uint32_t *less;
	int r = ends_noted(heap, h->line_ends, to);

	if (r < 0 && r != -ENOMEM && r != -EFBIG) {
		to->at.len = 0;
		r = ends_searched(heap, h->source, to);
	}
	if (r < 0)
		return r;
	less = realloc(to->at.data, to->at.len * sizeof(*less));
	if (less)
		to->at.data = less;
	return 0;
}

/* The small integer @word of a Script, or 0 if it is none or implausible. */
static int32_t place_of(uint64_t word)
{
	int32_t value = op_node_small(word);

	return op_node_is_small(word) && value > -PLACE_MAX && value < PLACE_MAX ? value
										 : 0;
}

/* Append the script's name as in V8's stack traces. */
static int add_name(const struct op_node_heap *heap, const struct head *h,
		    struct op_strbuf *name)
{
	int r = -EBADMSG;

	if (op_node_is_object(h->url))
		r = op_runtime_node_string(heap, h->url, OP_NODE_NAME_MAX, name);
	if (r < 0 && r != -ENOMEM) /* most have none: undefined is no string */
		r = op_runtime_node_string(heap, h->name, OP_NODE_NAME_MAX, name);
	return r;
}

/* Did the script @object, or what it points to, move since @h was read of it? */
static bool is_moved(const struct op_node_heap *heap, uint64_t object,
		     const struct head *h)
{
	struct head now = { 0 };
	int r = read_head(heap, object, &now);

	return r < 0 ? r == -EBADMSG || r == -EFAULT : memcmp(&now, h, sizeof(now)) != 0;
}

/* Fill in @ret except its id, with at most @room lines. Returns 0; 1 if its lines do
 * not fit; or -ENOMEM. */
static int read_script(const struct op_node_heap *heap, const struct head *h, size_t room,
		       struct op_node_script *ret)
{
	_cleanup_(op_strbuf_deinit) struct op_strbuf name = { 0 };
	struct ends ends = { .room = room };
	bool moved;
	int named;
	int r;

	op_strbuf_add(&name, "", 0);
	named = add_name(heap, h, &name);
	if (named == -ENOMEM)
		return named;
	r = read_ends(heap, h, &ends);
	/* no name and no lines are better than wrong ones */
	moved = is_moved(heap, ret->object, h);
	if (r < 0 || moved)
		op_vec_clear(&ends.at);
	ret->name = strdup(named == 0 && name.data && !moved ? name.data : "");
	if (!ret->name) {
		op_vec_clear(&ends.at);
		return -ENOMEM;
	}
	ret->ends = ends.at.data;
	ret->len = ends.at.len;
	ret->first_line = place_of(h->line_offset);
	ret->first_column = OP_MAX(place_of(h->column_offset), 0);
	return r == -EFBIG;
}

static bool is_whole(const struct op_node_script *script)
{
	return script->len || script->reads >= OP_NODE_SCRIPT_READS;
}

/* Store @fresh in the place of @old, or at the end. Takes it. */
static int keep(struct op_node_scripts *scripts, struct op_node_script *old,
		struct op_node_script *fresh, const struct op_node_script **ret)
{
	size_t others = scripts->lines - (old ? old->len : 0);

	if (!old &&
	    op_map64_put(&scripts->by_object, fresh->object, scripts->all.len) == 0)
		old = op_vec_push(&scripts->all);
	else if (old)
		clear(old);
	if (!old) {
		op_map64_remove(&scripts->by_object, fresh->object);
		clear(fresh);
		return -ENOMEM;
	}
	scripts->lines = others + fresh->len;
	*old = *fresh;
	*ret = old;
	return 0;
}

int op_runtime_node_script(struct op_node_scripts *scripts, uint64_t object,
			   const uint64_t *id, const struct op_node_script **ret)
{
	struct op_node_script fresh = { .object = object, .reads = 1 };
	struct op_node_script *script = NULL;
	struct head head = { 0 };
	bool known; /* it is the wanted one */
	size_t others;
	uint64_t at;
	int r = 0;

	if (op_map64_get(&scripts->by_object, object, &at))
		script = &scripts->all.data[at];
	known = script && id && script->id == *id;
	if (!known || !is_whole(script))
		r = read_head(scripts->heap, object, &head);
	if (r == 0 && id && !known && head.id != *id)
		r = -ESTALE;
	if (r < 0 && !known)
		return r;
	known = known || (script && script->id == head.id);
	if (known && (r < 0 || is_whole(script) || script->id != head.id)) {
		*ret = script;
		return 0;
	}
	if (known)
		fresh.reads += script->reads;
	fresh.id = head.id;
	others = scripts->lines - (script ? script->len : 0);
	r = read_script(scripts->heap, &head, OP_NODE_LINES_MAX - others, &fresh);
	if (r < 0)
		return r;
	if (known && !*fresh.name) { /* the process may have ended meanwhile */
		free(fresh.name);
		fresh.name = OP_TAKE_PTR(script->name);
	}
	if (r > 0) {
		fresh.reads = OP_NODE_SCRIPT_READS;
		scripts->refused++;
		scripts->full = scripts->full || others;
	}
	return keep(scripts, script, &fresh, ret);
}

struct op_node_place op_runtime_node_place(const struct op_node_script *script,
					   int32_t offset)
{
	struct op_node_place ret = { 0 };
	size_t line;

	if (offset < 0 || !script->len ||
	    (uint32_t)offset > script->ends[script->len - 1])
		return ret;
	line = op_first_where(i, script->len, script->ends[i] >= (uint32_t)offset);
	/* text that V8 itself put in front is before line 1 */
	if ((int64_t)line + 1 + script->first_line <= 0)
		return ret;
	ret.line = (uint32_t)((int64_t)line + 1 + script->first_line);
	/* the character that ends a line is its last */
	ret.column = (uint32_t)offset + 1 - (line ? script->ends[line - 1] + 1 : 0);
	if (line == 0)
		ret.column += (uint32_t)script->first_column;
	return ret;
}
