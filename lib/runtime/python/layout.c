/* SPDX-License-Identifier: Apache-2.0 */
/* The schema of CPython's layout sections, and the offsets that the interpreter
 * publishes. */
#include "runtime/python/layout.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "base/reader.h"

#define ROW(name, member, words)                                                         \
	{                                                                                \
		name, offsetof(struct op_python_layout, member),                         \
			sizeof(((struct op_python_layout *)0)->member), 1, words         \
	}
#define FIELD(member)		ROW(#member, member, NULL)
#define FIELD_OF(group, member) ROW(#group "_" #member, group.member, NULL)
#define WORDS(list)		ROW(#list, list, list)

enum {
	CODE_BYTES_MIN = 144,
	CODE_BYTES_MAX = 512,
	GROUP_WORDS_MAX = 24,
	OBJECT_OFFSET_MAX = 240,
	ID_BYTES_MAX = 128,
	OBJECT_BYTES = 16, /* of PyObject */
	OBJECT_TYPE = 8,   /* its ob_type */
	FREE_OBJECT_BYTES =
		16, /* so much more, before ob_type, in free-threaded builds */
	FREE_COPIES_SINCE = 0x030e,
	TEXT_MAX = 256, /* bytes that are copied of a name; twice that of a file's */
};

static const struct op_layouts_word flags[] = {
	{ "one_frame", OP_PYTHON_ONE_FRAME },
	{ "mark_hidden", OP_PYTHON_MARK_HIDDEN },
	{ "cframe", OP_PYTHON_CFRAME },
	{ "cframe_frame", OP_PYTHON_CFRAME_FRAME },
	{ "relative", OP_PYTHON_RELATIVE },
	{ "function", OP_PYTHON_FUNCTION },
	{ NULL, 0 },
};

static const struct op_layouts_word lines[] = {
	{ "lnotab", OP_PYTHON_LNOTAB },
	{ "linetable", OP_PYTHON_LINETABLE },
	{ "locations", OP_PYTHON_LOCATIONS },
	{ NULL, 0 },
};

static const struct op_layouts_field fields[] = {
	WORDS(flags),
	WORDS(lines),
	FIELD(state_frame),
	FIELD(state_cframe),
	FIELD(state_thread),
	FIELD(runtime_current),
	FIELD(cframe_frame),
	FIELD(cframe_previous),
	FIELD_OF(frame, code),
	FIELD_OF(frame, previous),
	FIELD_OF(frame, place),
	FIELD_OF(frame, function),
	FIELD_OF(frame, mark),
	FIELD_OF(frame, stack),
	FIELD(mark),
	FIELD(pointer_mask),
	FIELD(generator_frame),
	FIELD(generator_state),
	FIELD(generator_awaits),
	FIELD(generator_below),
	FIELD_OF(code, bytes),
	FIELD_OF(code, first_line),
	FIELD_OF(code, file),
	FIELD_OF(code, name),
	FIELD_OF(code, qualname),
	FIELD_OF(code, lines),
	FIELD_OF(code, units),
	FIELD_OF(code, flags),
	FIELD_OF(code, version),
	FIELD(unicode_length),
	FIELD(unicode_state),
	FIELD(unicode_ascii),
	FIELD(unicode_compact),
	FIELD(bytes_length),
	FIELD(bytes_text),
	FIELD(object_type),
	{ "published", offsetof(struct op_python_layout, published), 1, OP_PYTHON_GROUPS,
	  NULL },
};

/* Check that the step can read a frame: whole words, at most OP_PYTHON_READ_MAX bytes. */
static const char *check_frame(const struct op_python_layout *l)
{
	const uint8_t words[] = { l->frame.code, l->frame.previous, l->frame.function,
				  l->frame.stack, l->frame.place };
	size_t count = OP_ARRAY_SIZE(words) - !!(l->flags & OP_PYTHON_ONE_FRAME);
	uint32_t first = l->frame.place;
	uint32_t end = l->frame.place + 8u;
	size_t i;

	for (i = 0; i < count; i++) {
		if (words[i] % 8)
			return "frame_code, _previous, _function, _stack and _place "
			       "must be multiples of 8";
		if ((i == 2 && !(l->flags & OP_PYTHON_FUNCTION)) ||
		    (i == 3 && !l->generator_frame))
			continue;
		first = OP_MIN(first, (uint32_t)words[i]);
		end = OP_MAX(end, words[i] + 8u);
	}
	if (!(l->flags & OP_PYTHON_ONE_FRAME))
		end = OP_MAX(end, l->frame.mark + 1u);
	if (end - first > OP_PYTHON_READ_MAX)
		return "what is read of a frame must lie within 104 bytes";
	if (!(l->flags & OP_PYTHON_ONE_FRAME) && l->frame.mark < first)
		return "frame_mark must lie behind the first word of the frame";
	if (OP_MAX(l->cframe_frame, l->cframe_previous) + 8 > OP_PYTHON_CFRAME_BYTES)
		return "cframe_frame and cframe_previous must be up to 16";
	return NULL;
}

/* The first and the last byte of the identity of code objects. */
static uint16_t first_of_id(const struct op_python_layout *l)
{
	uint16_t first = OP_MIN(l->code.first_line, l->code.flags);

	return OP_MIN(first, l->code.version ? l->code.version
					     : OP_MIN(l->code.file, l->code.name));
}

static uint16_t end_of_id(const struct op_python_layout *l)
{
	uint16_t last = OP_MAX(l->code.file, OP_MAX(l->code.name, l->code.qualname));

	if (l->code.version)
		last = l->code.version;
	return (uint16_t)(OP_ALIGN_DOWN(OP_MAX(last, l->code.first_line), 8) + 8);
}

/* Check that the step can identify code objects, and copy the data that names them. */
static const char *check_code(const struct op_python_layout *l)
{
	const uint16_t words[] = { l->code.file, l->code.name, l->code.qualname,
				   l->code.lines };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(words); i++)
		if (words[i] % 8 || words[i] > OBJECT_OFFSET_MAX)
			return "code_file, _name, _qualname and _lines must be multiples of 8, "
			       "up to 240";
	if (l->code.first_line > OBJECT_OFFSET_MAX ||
	    l->code.version > OBJECT_OFFSET_MAX || l->code.flags > OBJECT_OFFSET_MAX)
		return "code_first_line, _version and _flags must be up to 240";
	if (OP_ALIGN_DOWN(first_of_id(l), 8) + ID_BYTES_MAX < end_of_id(l))
		return "the members that identify a code object must lie within 128 bytes";
	if (l->unicode_compact > UINT8_MAX || l->unicode_state > UINT8_MAX ||
	    l->unicode_length > UINT8_MAX || l->bytes_text > UINT8_MAX ||
	    l->bytes_length > UINT8_MAX)
		return "unicode_* and bytes_* must be up to 255";
	return NULL;
}

static const char *check(const void *layout)
{
	const struct op_python_layout *l = layout;
	size_t i;

	if (l->lines > OP_PYTHON_LOCATIONS)
		return "lines must be one word";
	if (l->code.bytes < CODE_BYTES_MIN || l->code.bytes > CODE_BYTES_MAX)
		return "code_bytes must be 144 to 512";
	if (!l->code.name || !l->code.file || !l->code.lines || !l->code.first_line ||
	    !l->code.flags)
		return "code_name, _file, _lines, _first_line and _flags must be given";
	if (check_code(l))
		return check_code(l);
	if (!l->unicode_length || !l->unicode_state || !l->unicode_ascii ||
	    !l->unicode_compact || !l->bytes_length || !l->bytes_text || !l->object_type)
		return "all of unicode_*, bytes_* and object_type must be given";
	for (i = 0; i < OP_PYTHON_GROUPS; i++)
		if (l->published[i] > GROUP_WORDS_MAX)
			return "published has numbers up to 24";
	return check_frame(l);
}

const struct op_layouts_schema op_runtime_python_layouts = {
	.runtime = "python",
	.title = "CPython",
	.bytes = sizeof(struct op_python_layout),
	.field = fields,
	.fields = OP_ARRAY_SIZE(fields),
	.built_in = op_runtime_python_layout_text,
	.check = check,
};

/* _Py_DebugOffsets is a cookie, two words, and then groups of words. Minor versions
 * differ only in the set of groups and in the length of each. */
enum group {
	GROUP_RUNTIME,
	GROUP_INTERPRETER,
	GROUP_THREAD,
	GROUP_FRAME,
	GROUP_CODE,
	GROUP_OBJECT,
	GROUP_TYPE,
	GROUP_TUPLE,
	GROUP_LIST,
	GROUP_SET,
	GROUP_DICT,
	GROUP_FLOAT,
	GROUP_LONG,
	GROUP_BYTES,
	GROUP_UNICODE,
	GROUP_GC,
	GROUP_GENERATOR,
	GROUPS,
};

_Static_assert((int)GROUPS == OP_PYTHON_GROUPS, "the groups of _Py_DebugOffsets");

enum {
	FRAME_BYTES_MIN = 64,
	/* the published size counts one local */
	FRAME_BYTES_MAX = OP_PYTHON_READ_MAX + 8,
	GENERATOR_BYTES_MIN = 96,
	GENERATOR_BYTES_MAX = 512,
};

/* Are all offsets of a group smaller than its size (word 0), and is that size
 * in range? */
static bool group_ok(const uint64_t *group, uint32_t words, uint64_t min, uint64_t max)
{
	uint32_t i;

	if (group[0] < min || group[0] > max)
		return false;
	for (i = 1; i < words; i++)
		if (group[i] > group[0])
			return false;
	return true;
}

/* Copy the offsets for following tasks. Returns false if they are not published, or out
 * of range. */
static bool use_generator(const uint64_t *frame, const uint64_t *generator,
			  struct op_python_layout *l)
{
	if (!l->generator_frame ||
	    !group_ok(generator, 4, GENERATOR_BYTES_MIN, GENERATOR_BYTES_MAX) ||
	    frame[6] > UINT8_MAX || generator[2] > UINT8_MAX || generator[3] > UINT8_MAX)
		return false;
	l->frame.stack = (uint8_t)frame[6];
	l->generator_frame = (uint8_t)generator[2];
	l->generator_state = (uint8_t)generator[3];
	return l->generator_frame != 0;
}

/* @more: by so many bytes each object is longer. */
static int use_groups(uint64_t g[GROUPS][GROUP_WORDS_MAX], uint32_t more,
		      struct op_python_layout *layout)
{
	const uint64_t *frame = g[GROUP_FRAME];
	const uint64_t *code = g[GROUP_CODE];
	const uint8_t *words = layout->published;
	struct op_python_layout l = *layout;

	if (!group_ok(frame, words[GROUP_FRAME], FRAME_BYTES_MIN, FRAME_BYTES_MAX) ||
	    !group_ok(code, words[GROUP_CODE], CODE_BYTES_MIN, CODE_BYTES_MAX) ||
	    !group_ok(g[GROUP_OBJECT], 2, OBJECT_BYTES + more, OBJECT_BYTES + more) ||
	    g[GROUP_OBJECT][1] != OBJECT_TYPE + more ||
	    !group_ok(g[GROUP_BYTES], 3, 33 + more, 40 + more) ||
	    !group_ok(g[GROUP_UNICODE], 4, 48, 96) || g[GROUP_THREAD][4] > UINT8_MAX)
		return -EBADMSG;
	l.object_type = (uint8_t)(OBJECT_TYPE + more);
	l.state_frame = (uint8_t)g[GROUP_THREAD][4];
	l.frame.previous = (uint8_t)frame[1];
	l.frame.code = (uint8_t)frame[2];
	l.frame.place = (uint8_t)frame[3];
	l.frame.mark = (uint8_t)frame[5];
	l.code.file = (uint16_t)code[1];
	l.code.name = (uint16_t)code[2];
	l.code.qualname = (uint16_t)code[3];
	l.code.lines = (uint16_t)code[4];
	l.code.first_line = (uint16_t)code[5];
	l.code.bytes = l.code.units = (uint16_t)code[9];
	l.bytes_length = (uint16_t)g[GROUP_BYTES][1];
	l.bytes_text = (uint16_t)g[GROUP_BYTES][2];
	l.unicode_state = (uint16_t)g[GROUP_UNICODE][1];
	l.unicode_length = (uint16_t)g[GROUP_UNICODE][2];
	l.unicode_ascii = (uint16_t)g[GROUP_UNICODE][3];
	/* PyCompactUnicodeObject adds utf8_length and utf8 */
	l.unicode_compact = (uint16_t)(l.unicode_ascii + 16);
	/* not published */
	l.code.flags = (uint16_t)(l.code.flags + more);
	l.code.version = (uint16_t)(l.code.version + more);
	/* offsets for tasks do not enlarge other reads */
	if (more || !use_generator(frame, g[GROUP_GENERATOR], &l))
		l.generator_frame = 0;
	if (check(&l))
		return -EBADMSG;
	*layout = l;
	return 0;
}

int op_runtime_python_layout_published(const void *bytes, size_t len, uint16_t version,
				       struct op_python_layout *layout)
{
	struct op_reader r = op_reader_init(bytes, len);
	uint64_t g[GROUPS][GROUP_WORDS_MAX] = { { 0 } };
	const uint8_t *cookie = op_read_bytes(&r, 8);
	uint64_t hex = op_read_u64(&r);
	uint64_t free_threaded = op_read_u64(&r);
	uint32_t i, k;

	if (!cookie || memcmp(cookie, "xdebugpy", 8) != 0 || hex >> 16 != version)
		return -EBADMSG;
	/* threads have copies of the bytecode since then */
	if (free_threaded && version >= FREE_COPIES_SINCE)
		return -ENOTSUP;
	for (i = 0; i < GROUPS; i++)
		for (k = 0; k < layout->published[i]; k++)
			g[i][k] = op_read_u64(&r);
	if (r.failed)
		return -EBADMSG;
	return use_groups(g, free_threaded ? FREE_OBJECT_BYTES : 0, layout);
}

/* How to identify code objects: op_python.h. */
static void set_id(const struct op_python_layout *l, struct op_python_code_id *ret)
{
	uint16_t from = OP_ALIGN_DOWN(first_of_id(l), 8);
	uint16_t at[OP_PYTHON_CODE_WORDS] = { l->code.first_line, l->code.file,
					      l->code.qualname ? l->code.qualname
							       : l->code.file,
					      l->code.name };
	size_t i;

	if (l->code.version)
		at[1] = at[2] = at[3] = l->code.version;
	for (i = 0; i < OP_PYTHON_CODE_WORDS; i++)
		ret->at[i] = (uint8_t)(OP_ALIGN_DOWN(at[i], 8) - from);
	ret->from = (uint8_t)from;
	ret->bytes = (uint8_t)(end_of_id(l) - from);
	ret->name = !l->code.version;
	ret->flags = (uint8_t)(l->code.flags - from);
}

/* How to name a code object: itself, its name, its file, and its line table. */
static void set_object(const struct op_python_layout *l, struct op_object_step *ret)
{
	const struct op_object_step text = { .bytes = (uint8_t)l->unicode_compact,
					     .length_at = (uint8_t)l->unicode_length,
					     .width_at = (uint8_t)l->unicode_state,
					     .most = TEXT_MAX };

	ret[0] = (struct op_object_step){
		.bytes = (uint8_t)OP_MIN(l->code.bytes, (uint16_t)OP_PYTHON_OBJECT_BYTES)
	};
	ret[1] = ret[2] = text;
	ret[1].at = (uint8_t)(l->code.qualname ? l->code.qualname : l->code.name);
	ret[2].at = (uint8_t)l->code.file;
	ret[2].most = 2 * TEXT_MAX;
	ret[3] = (struct op_object_step){ .at = (uint8_t)l->code.lines,
					  .bytes = (uint8_t)l->bytes_text,
					  .length_at = (uint8_t)l->bytes_length,
					  .most = OP_OBJECT_CHARS_MAX };
}

uint32_t op_runtime_python_layout_id(const struct op_python_layout *layout, uint64_t addr,
				     const void *code, size_t len, uint64_t texts)
{
	struct op_python_code_id of;
	struct op_reader r;
	uint64_t id = addr;
	size_t i;

	set_id(layout, &of);
	r = op_reader_init(code, len);
	for (i = 0; i < OP_PYTHON_CODE_WORDS; i++) {
		op_reader_seek(&r, (size_t)of.from + of.at[i]);
		id = op_object_id(id, i + 1 < OP_PYTHON_CODE_WORDS || !of.name
					      ? op_read_u64(&r)
					      : texts);
	}
	return (uint32_t)(id >> 32);
}

void op_runtime_python_layout_step(const struct op_python_layout *layout,
				   struct op_python *ret)
{
	const uint8_t offsets[] = { layout->frame.code, layout->frame.previous,
				    layout->frame.function };
	/* The position has 8 bytes, or 4 if it is f_lasti; the mark has one. */
	uint8_t end = layout->frame.place + (layout->flags & OP_PYTHON_RELATIVE ? 8 : 4);
	uint8_t from = layout->frame.place;
	size_t count = OP_ARRAY_SIZE(offsets) - !(layout->flags & OP_PYTHON_FUNCTION);
	size_t i;

	for (i = 0; i < count; i++) {
		from = OP_MIN(from, offsets[i]);
		end = OP_MAX(end, (uint8_t)(offsets[i] + 8));
	}
	if (!(layout->flags & OP_PYTHON_ONE_FRAME))
		end = OP_MAX(end, (uint8_t)(layout->frame.mark + 1));
	if (layout->generator_frame) {
		from = OP_MIN(from, layout->frame.stack);
		end = OP_MAX(end, (uint8_t)(layout->frame.stack + 8));
		ret->tasks.frame_stack = layout->frame.stack - from;
		ret->tasks.generator_frame = layout->generator_frame;
		ret->tasks.generator_state = layout->generator_state;
		ret->tasks.awaits = layout->generator_awaits;
		ret->tasks.awaited_below = layout->generator_below;
	}
	ret->flags = layout->flags;
	ret->state_frame = layout->state_frame;
	ret->state_cframe = layout->state_cframe;
	ret->cframe_frame = layout->cframe_frame;
	ret->cframe_previous = layout->cframe_previous;
	ret->read_from = from;
	ret->read_bytes = OP_ALIGN_UP((uint8_t)(end - from), 8);
	ret->frame_code = layout->frame.code - from;
	ret->frame_previous = layout->frame.previous - from;
	ret->frame_place = layout->frame.place - from;
	if (layout->flags & OP_PYTHON_FUNCTION)
		ret->frame_function = layout->frame.function - from;
	if (!(layout->flags & OP_PYTHON_ONE_FRAME))
		ret->frame_mark = layout->frame.mark - from;
	ret->mark = layout->mark;
	ret->state_owner =
		layout->state_cframe ? layout->state_cframe : layout->state_thread;
	ret->pointer_mask = layout->pointer_mask;
	set_id(layout, &ret->id);
	set_object(layout, ret->object);
}
