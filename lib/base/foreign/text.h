/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that others chose, for people: names of programs, files and functions, words of a
 * server, what a recording says. What a terminal or a page would obey, or what nobody sees,
 * is written as an escape, so that it does nothing and two names stay two:
 *
 *   control characters	      "\x1b", "\u009b"
 *   what has no width, or turns the direction of writing	"\u202e", "\U000e0041"
 *   a byte that is no UTF-8  "\xff"
 */
#ifndef OP_BASE_FOREIGN_TEXT_H
#define OP_BASE_FOREIGN_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	OP_TEXT_CHAR_BYTES = 12, /* bytes of one character as it is shown */
	OP_TEXT_LINE_BYTES = 512,
};

/* The bytes of the valid UTF-8 character (RFC 3629) at @s, or 0. */
size_t op_text_char(const char *s, size_t len);

/* Write what is shown of the first of @len bytes, at least one. Returns how many bytes of @s
 * it stands for. */
size_t op_text_show_char(const char *s, size_t len, char ret[OP_TEXT_CHAR_BYTES]);

/* Write what is shown of @s, cut to whole characters where @size is too small, with a NUL.
 * Returns its length. */
size_t op_text_show(const char *s, size_t len, char *ret, size_t size);

/* As vsnprintf(), of at most OP_TEXT_LINE_BYTES: all of the line is shown. Returns its length. */
size_t op_text_format(char *ret, size_t size, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

#endif
