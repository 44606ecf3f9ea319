/* SPDX-License-Identifier: Apache-2.0 */
/* Makes strings of other processes valid UTF-8, which protobuf requires. */
#ifndef OP_PROFILE_UTF8_H
#define OP_PROFILE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

enum {
	OP_UTF8_MEND_FACTOR = 3
}; /* largest growth of a mended string */

/* Is it valid by RFC 3629: no overlong forms, no surrogates, at most U+10FFFF? */
bool op_utf8_valid(const char *s, size_t len);

/* Copy @s to @ret (OP_UTF8_MEND_FACTOR * @len bytes), with a U+FFFD for each byte that
 * does not begin a valid character. Returns the number of bytes written. */
size_t op_utf8_mend(const char *s, size_t len, char *ret);

/*
 * The length, at most @max bytes, to which @s can be cut without splitting a character.
 */
size_t op_utf8_cut(const char *s, size_t len, size_t max);

#endif
