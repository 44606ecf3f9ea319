/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that others chose, made safe to show: names of programs, files and functions, words
 * of a server, texts of a recording. Characters that a terminal or a page would obey, and
 * invisible ones, become escapes. So they have no effect, and two names stay different:
 *
 *   control characters                                "\x1b", "\u009b"
 *   no width, or another direction of writing         "\u202e", "\U000e0041"
 *   bytes that are not UTF-8                          "\xff"
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

/* Write the first character of @len bytes as it is shown. Returns how many bytes of @s
 * it took, at least one. */
size_t op_text_show_char(const char *s, size_t len, char ret[OP_TEXT_CHAR_BYTES]);

/* Write @s as it is shown, with a NUL. If @size is too small, it is cut between two
 * characters. Returns the length. */
size_t op_text_show(const char *s, size_t len, char *ret, size_t size);

/* Like vsnprintf(), for a line of at most OP_TEXT_LINE_BYTES, all of which is shown.
 * Returns the length. */
size_t op_text_format(char *ret, size_t size, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

#endif
