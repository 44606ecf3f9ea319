/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/python/layout.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "base/reader.h"

/* What rows share. From Include/code.h, frameobject.h, cpython/unicodeobject.h,
 * bytesobject.h of each version; pointers of 8 bytes, no Py_TRACE_REFS. */
#define OBJECTS_TO_3_11                                                                  \
	.unicode_length = 16, .unicode_state = 32, .unicode_ascii = 48,                  \
	.unicode_compact = 72, .bytes_length = 16, .bytes_text = 32
#define OBJECTS_FROM_3_12                                                                \
	.unicode_length = 16, .unicode_state = 32, .unicode_ascii = 40,                  \
	.unicode_compact = 56, .bytes_length = 16, .bytes_text = 32
#define FRAME_OBJECT /* struct _frame: f_back, f_code, f_globals; tstate->frame */       \
	.state_frame = 24, .frame_previous = 24, .frame_code = 32, .frame_globals = 48
#define CODE_3_6                                                                         \
	.code_bytes = 144, .code_first_line = 36, .code_file = 96, .code_name = 104,     \
	.code_lines = 112
#define CODE_3_8 /* co_posonlyargcount came in */                                        \
	.code_bytes = 152, .code_first_line = 40, .code_file = 104, .code_name = 112,    \
	.code_lines = 120
#define CODE_TAIL /* the same in 3.11 and later */                                       \
	.code_file = 112, .code_name = 120, .code_qualname = 128, .code_lines = 136
/* struct _PyInterpreterFrame from 3.12 on */
#define FRAME_3_12                                                                       \
	.frame_code = 0, .frame_previous = 8, .frame_function = 16, .frame_globals = 24, \
	.frame_place = 56

enum {
	/* enum _frameowner: FRAME_OWNED_BY_CSTACK to 3.13, ..._INTERPRETER from 3.14 */
	OWNED_BY_LOOP = 3,
	MARK_FLAGS = OP_PYTHON_RELATIVE | OP_PYTHON_MARK_HIDDEN | OP_PYTHON_FUNCTION,
	CFRAME_FLAGS = OP_PYTHON_CFRAME | OP_PYTHON_CFRAME_FRAME,
};

/* clang-format off */
static const struct op_python_layout rows[] = {
	{ .version = 0x0306, .flags = OP_PYTHON_ONE_FRAME, .lines = OP_PYTHON_LNOTAB,
	  FRAME_OBJECT, .frame_place = 120, CODE_3_6, OBJECTS_TO_3_11 },
	{ .version = 0x0307, .flags = OP_PYTHON_ONE_FRAME, .lines = OP_PYTHON_LNOTAB,
	  FRAME_OBJECT, .frame_place = 104, CODE_3_6, OBJECTS_TO_3_11 },
	{ .version = 0x0308, .flags = OP_PYTHON_ONE_FRAME, .lines = OP_PYTHON_LNOTAB,
	  FRAME_OBJECT, .frame_place = 104, CODE_3_8, OBJECTS_TO_3_11 },
	{ .version = 0x0309, .flags = OP_PYTHON_ONE_FRAME, .lines = OP_PYTHON_LNOTAB,
	  FRAME_OBJECT, .frame_place = 104, CODE_3_8, OBJECTS_TO_3_11 },
	{ .version = 0x030a, .flags = OP_PYTHON_ONE_FRAME | OP_PYTHON_CFRAME,
	  .lines = OP_PYTHON_LINETABLE, .state_cframe = 48, .cframe_previous = 8,
	  FRAME_OBJECT, .frame_place = 96, CODE_3_8, OBJECTS_TO_3_11 },
	{ .version = 0x030b, .flags = OP_PYTHON_RELATIVE | CFRAME_FLAGS,
	  .lines = OP_PYTHON_LOCATIONS,
	  .state_cframe = 56, .cframe_frame = 8, .cframe_previous = 16,
	  .frame_code = 32, .frame_previous = 48, .frame_globals = 8, .frame_place = 56,
	  .frame_mark = 68, .mark = 1, /* is_entry */
	  .code_bytes = 184, .code_first_line = 72, .code_units = 184, CODE_TAIL,
	  OBJECTS_TO_3_11 },
	{ .version = 0x030c, .flags = MARK_FLAGS | CFRAME_FLAGS,
	  .lines = OP_PYTHON_LOCATIONS,
	  .state_cframe = 56, .cframe_frame = 0, .cframe_previous = 8,
	  FRAME_3_12, .frame_mark = 70, .mark = OWNED_BY_LOOP,
	  .code_bytes = 192, .code_first_line = 68, .code_units = 192, CODE_TAIL,
	  OBJECTS_FROM_3_12 },
	{ .version = 0x030d, .flags = MARK_FLAGS, .lines = OP_PYTHON_LOCATIONS,
	  .state_frame = 72, FRAME_3_12, .frame_mark = 70, .mark = OWNED_BY_LOOP,
	  .code_bytes = 200, .code_first_line = 68, .code_units = 200, CODE_TAIL,
	  OBJECTS_FROM_3_12 },
	/* _PyStackRef: the low two bits of a pointer are tags */
	{ .version = 0x030e, .flags = MARK_FLAGS, .lines = OP_PYTHON_LOCATIONS,
	  .state_frame = 72, FRAME_3_12, .frame_mark = 74, .mark = OWNED_BY_LOOP,
	  .pointer_mask = 3,
	  .code_bytes = 208, .code_first_line = 68, .code_units = 208, CODE_TAIL,
	  OBJECTS_FROM_3_12 },
};
/* clang-format on */

const struct op_python_layout *op_runtime_python_layout(uint16_t version)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(rows); i++)
		if (rows[i].version == version)
			return &rows[i];
	return NULL;
}

/*
 * _Py_DebugOffsets is a cookie, two words and then groups of words; which groups there
 * are, and how long each is, is the only thing that differs among minor versions
 * (Include/internal/pycore_runtime.h of 3.13, pycore_debug_offsets.h of 3.14).
 */
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
	GROUPS,
};

struct published {
	uint16_t version;
	uint8_t words[GROUPS];
};

static const struct published published[] = {
	{ 0x030d, { 3, 13, 9, 6, 10, 2, 4, 3, 3, 0, 3, 2, 3, 3, 4 } },
	{ 0x030e, { 3, 16, 9, 8, 11, 2, 4, 3, 3, 4, 3, 2, 3, 3, 4 } },
};

enum {
	GROUP_WORDS_MAX = 16,
	FRAME_BYTES_MIN = 64,
	FRAME_BYTES_MAX = OP_PYTHON_READ_MAX + 8, /* it counts one local */
	CODE_BYTES_MIN = 144,
	CODE_BYTES_MAX = 512,
};

static const struct published *find_published(uint16_t version)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(published); i++)
		if (published[i].version == version)
			return &published[i];
	return NULL;
}

/* Are the offsets of a group (all but its size) inside the size, and its size in range? */
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

static int use_groups(uint64_t g[GROUPS][GROUP_WORDS_MAX], const struct published *p,
		      struct op_python_layout *layout)
{
	const uint64_t *frame = g[GROUP_FRAME];
	const uint64_t *code = g[GROUP_CODE];
	struct op_python_layout l = *layout;

	if (!group_ok(frame, p->words[GROUP_FRAME], FRAME_BYTES_MIN, FRAME_BYTES_MAX) ||
	    !group_ok(code, p->words[GROUP_CODE], CODE_BYTES_MIN, CODE_BYTES_MAX) ||
	    !group_ok(g[GROUP_OBJECT], 2, 16, 16) || g[GROUP_OBJECT][1] != 8 ||
	    !group_ok(g[GROUP_BYTES], 3, 33, 40) ||
	    !group_ok(g[GROUP_UNICODE], 4, 48, 96) || g[GROUP_THREAD][4] > UINT8_MAX)
		return -EBADMSG;
	l.state_frame = (uint8_t)g[GROUP_THREAD][4];
	l.frame_previous = (uint8_t)frame[1];
	l.frame_code = (uint8_t)frame[2];
	l.frame_place = (uint8_t)frame[3];
	l.frame_mark = (uint8_t)frame[5];
	l.code_file = (uint16_t)code[1];
	l.code_name = (uint16_t)code[2];
	l.code_qualname = (uint16_t)code[3];
	l.code_lines = (uint16_t)code[4];
	l.code_first_line = (uint16_t)code[5];
	l.code_bytes = l.code_units = (uint16_t)code[9];
	l.bytes_length = (uint16_t)g[GROUP_BYTES][1];
	l.bytes_text = (uint16_t)g[GROUP_BYTES][2];
	l.unicode_state = (uint16_t)g[GROUP_UNICODE][1];
	l.unicode_length = (uint16_t)g[GROUP_UNICODE][2];
	l.unicode_ascii = (uint16_t)g[GROUP_UNICODE][3];
	/* PyCompactUnicodeObject adds utf8_length and utf8 */
	l.unicode_compact = (uint16_t)(l.unicode_ascii + 16);
	*layout = l;
	return 0;
}

int op_runtime_python_layout_published(const void *bytes, size_t len,
				       struct op_python_layout *layout)
{
	const struct published *p = find_published(layout->version);
	struct op_reader r = op_reader_init(bytes, len);
	uint64_t g[GROUPS][GROUP_WORDS_MAX] = { { 0 } };
	const uint8_t *cookie = op_read_bytes(&r, 8);
	uint64_t version = op_read_u64(&r);
	uint64_t free_threaded = op_read_u64(&r);
	uint32_t i, k;

	if (!p || !cookie || memcmp(cookie, "xdebugpy", 8) != 0 ||
	    version >> 16 != layout->version)
		return -EBADMSG;
	if (free_threaded)
		return -ENOTSUP;
	for (i = 0; i < GROUPS; i++)
		for (k = 0; k < p->words[i]; k++)
			g[i][k] = op_read_u64(&r);
	if (r.failed)
		return -EBADMSG;
	return use_groups(g, p, layout);
}

void op_runtime_python_layout_step(const struct op_python_layout *layout,
				   struct op_python *ret)
{
	const uint8_t offsets[] = { layout->frame_code, layout->frame_previous,
				    layout->frame_globals, layout->frame_function };
	/* the place is 8 bytes, or 4 where it is f_lasti; the mark is a byte */
	uint8_t end = layout->frame_place + (layout->flags & OP_PYTHON_RELATIVE ? 8 : 4);
	uint8_t from = layout->frame_place;
	size_t count = OP_ARRAY_SIZE(offsets) - !(layout->flags & OP_PYTHON_FUNCTION);
	size_t i;

	for (i = 0; i < count; i++) {
		from = OP_MIN(from, offsets[i]);
		end = OP_MAX(end, (uint8_t)(offsets[i] + 8));
	}
	if (!(layout->flags & OP_PYTHON_ONE_FRAME))
		end = OP_MAX(end, (uint8_t)(layout->frame_mark + 1));
	ret->flags = layout->flags;
	ret->state_frame = layout->state_frame;
	ret->state_cframe = layout->state_cframe;
	ret->cframe_frame = layout->cframe_frame;
	ret->cframe_previous = layout->cframe_previous;
	ret->read_from = from;
	ret->read_bytes = OP_ALIGN_UP((uint8_t)(end - from), 8);
	ret->frame_code = layout->frame_code - from;
	ret->frame_previous = layout->frame_previous - from;
	ret->frame_place = layout->frame_place - from;
	ret->frame_globals = layout->frame_globals - from;
	if (layout->flags & OP_PYTHON_FUNCTION)
		ret->frame_function = layout->frame_function - from;
	if (!(layout->flags & OP_PYTHON_ONE_FRAME))
		ret->frame_mark = layout->frame_mark - from;
	ret->mark = layout->mark;
	ret->pointer_mask = layout->pointer_mask;
}
