/* SPDX-License-Identifier: Apache-2.0 */
/* Hex digits, independent of the locale, and decoding that uses them. */
#ifndef OP_BASE_HEX_H
#define OP_BASE_HEX_H

#include <stdbool.h>
#include <stddef.h>

/* The value of a hex digit of either case; -1 if @c is not one. */
static inline int op_hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* Are these @len lower-case hex digits? */
static inline bool op_is_hex(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!((s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f')))
			return false;
	return true;
}

/* Decode %XX in place. Returns false if a % is not followed by two hex digits, or makes a NUL. */
static inline bool op_percent_decode(char *s)
{
	char *out = s;

	while (*s) {
		int high;
		int low;

		if (*s != '%') {
			*out++ = *s++;
			continue;
		}
		high = op_hex_digit(s[1]);
		low = high < 0 ? -1 : op_hex_digit(s[2]);
		if (low < 0 || (!high && !low))
			return false;
		*out++ = (char)(high * 16 + low);
		s += 3;
	}
	*out = 0;
	return true;
}

#endif
