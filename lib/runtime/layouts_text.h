/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a layout file into lines, words and numbers. */
#ifndef OP_RUNTIME_LAYOUTS_TEXT_H
#define OP_RUNTIME_LAYOUTS_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum {
	OP_LAYOUTS_LINE_MAX = 256, /* bytes */
};

enum op_layouts_kind {
	OP_LAYOUTS_NOTHING, /* blank, or only a comment */
	OP_LAYOUTS_SECTION, /* [first second] */
	OP_LAYOUTS_ENTRY,   /* first = second */
};

struct op_layouts_line {
	enum op_layouts_kind kind;
	const char *first; /* points into text */
	const char *second;
	char text[OP_LAYOUTS_LINE_MAX + 1];
};

/* Parse the line [@text, @text + @len), given without its newline. Returns NULL, or what
 * is wrong with the line and what to write instead. */
const char *op_layouts_line(const char *text, size_t len, struct op_layouts_line *ret);

/* Copy the next word at *@at, at most @size - 1 bytes of it; blanks separate words.
 * Returns its length, 0 after the last word. */
size_t op_layouts_next(const char **at, char *ret, size_t size);

/* Parse a number, decimal or with 0x. Returns 0 or -EINVAL. */
int op_layouts_number(const char *word, uint64_t *ret);

#endif
