/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a layout file, and the numbers in them. */
#ifndef OP_RUNTIME_LAYOUTS_TEXT_H
#define OP_RUNTIME_LAYOUTS_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum {
	OP_LAYOUTS_LINE_MAX = 256, /* bytes */
};

enum op_layouts_kind {
	OP_LAYOUTS_NOTHING, /* blank, or a comment alone */
	OP_LAYOUTS_SECTION, /* [first second] */
	OP_LAYOUTS_ENTRY,   /* first = second */
};

struct op_layouts_line {
	enum op_layouts_kind kind;
	const char *first; /* into text */
	const char *second;
	char text[OP_LAYOUTS_LINE_MAX + 1];
};

/* Take the line [@text, @text + @len), without its newline, apart. Returns NULL, or what is
 * wrong with it and what to write there. */
const char *op_layouts_line(const char *text, size_t len, struct op_layouts_line *ret);

/* The next of the words in *@at, which blanks part, at most @size - 1 bytes of it. Returns
 * its length, 0 behind the last. */
size_t op_layouts_next(const char **at, char *ret, size_t size);

/* A number, decimal or with 0x. Returns 0, or -EINVAL. */
int op_layouts_number(const char *word, uint64_t *ret);

#endif
