/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of CPython's objects: python.layout has a section for each minor version. Up
 * to 3.12 the section gives all offsets. Since 3.13 the interpreter publishes most of
 * them (_Py_DebugOffsets, the first member of _PyRuntime), and the published ones take
 * precedence.
 */
#ifndef OP_RUNTIME_PYTHON_LAYOUT_H
#define OP_RUNTIME_PYTHON_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"
#include "runtime/layouts.h"

#include "op_python.h"

/* The format of co_lnotab or co_linetable. */
enum op_python_lines {
	OP_PYTHON_LNOTAB = 0,	 /* <= 3.9: pairs; code offsets in bytes */
	OP_PYTHON_LINETABLE = 1, /* 3.10: pairs, PEP 626; f_lasti counts code units */
	OP_PYTHON_LOCATIONS = 2, /* >= 3.11: location entries, PEP 657 */
};

enum {
	OP_PYTHON_GROUPS = 17, /* groups of _Py_DebugOffsets */
};

struct op_python_frame_layout {
	uint8_t code, previous, place, function, mark;
	uint8_t stack; /* if tasks are followed */
};

struct op_python_code_layout {
	uint16_t bytes; /* size of PyCodeObject without its bytecode */
	uint16_t first_line, file, name, lines;
	uint16_t qualname; /* 0: the version has none */
	uint16_t units;	   /* offset of the bytecode; 0: it is elsewhere */
	uint16_t flags;
	uint16_t version; /* of a number that no other object has; 0: there is none */
};

/* Offsets in bytes; those of a frame from its start. */
struct op_python_layout {
	uint8_t flags; /* OP_PYTHON_*, of op_python.h */
	uint8_t lines; /* enum op_python_lines */

	uint8_t state_frame;
	uint8_t state_cframe;
	uint8_t state_thread;
	uint8_t cframe_frame;
	uint8_t cframe_previous;

	struct op_python_frame_layout frame;
	uint8_t mark;
	uint8_t pointer_mask;

	uint8_t generator_frame; /* 0: tasks are not followed */
	uint8_t generator_state;
	uint8_t generator_awaits; /* the state of a coroutine that awaits another */
	/* place of the awaited one, in bytes below its stack pointer */
	uint8_t generator_below;

	uint16_t runtime_current; /* of _PyRuntime; 0: unknown */

	struct op_python_code_layout code;

	uint16_t unicode_length;
	uint16_t unicode_state;
	uint16_t unicode_ascii;	  /* bytes before the text of an ASCII string */
	uint16_t unicode_compact; /* bytes before the text of any other string */
	uint16_t bytes_length;
	uint16_t bytes_text;

	uint8_t object_type; /* of PyObject: ob_type */

	/* words of each group; 0: the group does not exist */
	uint8_t published[OP_PYTHON_GROUPS];
};

extern const struct op_layouts_schema op_runtime_python_layouts;

/* The text of python.layout. */
extern const unsigned char op_runtime_python_layout_text[];
extern const size_t op_runtime_python_layout_text_len;

enum {
	/* bytes that are read of any code object */
	OP_PYTHON_OBJECT_BYTES = 248,
	/* Bytes of _Py_DebugOffsets that op_runtime_python_layout_published() needs at
	 * most. */
	OP_PYTHON_PUBLISHED_MAX = 1024,
};

/*
 * Replace the offsets of @layout by those of the _Py_DebugOffsets in @bytes, which belong
 * to @version. Every offset is checked. Returns 0; -ENOTSUP for a free-threaded build
 * since 3.14; -EBADMSG if the bytes do not fit the version. After an error @layout is untouched.
 */
int op_runtime_python_layout_published(const void *bytes, size_t len, uint16_t version,
				       struct op_python_layout *layout);

/* The high half of a code object's identity, as the step computes it (op_python.h), for
 * the object at @addr, which begins with the @len bytes @code. @texts:
 * op_python_texts() of its names, and for a body the place of its name. */
uint32_t op_runtime_python_layout_id(const struct op_python_layout *layout, uint64_t addr,
				     const void *code, size_t len, uint64_t texts);

/* Copy the part of @layout that the step needs. */
void op_runtime_python_layout_step(const struct op_python_layout *layout,
				   struct op_python *ret);

#endif
