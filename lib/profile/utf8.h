/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of other processes made into UTF-8, which protobuf demands. */
#ifndef OP_PROFILE_UTF8_H
#define OP_PROFILE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

enum {
	OP_UTF8_MEND_FACTOR = 3
}; /* a mended string grows at most so much */

/* RFC 3629: no overlong forms, no surrogates, at most U+10FFFF. */
bool op_utf8_valid(const char *s, size_t len);

/*
 * Copy @s to @ret (OP_UTF8_MEND_FACTOR * @len bytes), a U+FFFD for each byte that begins no
 * valid character. Returns the bytes written.
 */
size_t op_utf8_mend(const char *s, size_t len, char *ret);

/* The most bytes of @s up to @max that end no character in the middle. */
size_t op_utf8_cut(const char *s, size_t len, size_t max);

#endif
