/* SPDX-License-Identifier: Apache-2.0 */
/* Checks, mends and cuts UTF-8. */
#include "profile/utf8.h"

#include <stdint.h>
#include <string.h>

/* The length of the valid UTF-8 character at @s, which has @len bytes, or 0. */
static size_t char_len(const uint8_t *s, size_t len)
{
	uint8_t low = 0x80;
	uint8_t high = 0xbf;
	size_t n;
	size_t i;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (n > len)
		return 0;
	/* The second byte excludes overlong forms, surrogates, and code points above
	 * U+10FFFF. */
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xf0)
		low = 0x90;
	if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (s[1] < low || s[1] > high)
		return 0;
	for (i = 2; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

bool op_utf8_valid(const char *str, size_t len)
{
	const uint8_t *s = (const uint8_t *)str;
	size_t i = 0;

	while (i < len) {
		uint64_t word;
		size_t n;

		if (len - i >= sizeof(word)) {
			memcpy(&word, s + i, sizeof(word));
			if (!(word & UINT64_C(0x8080808080808080))) {
				i += sizeof(word);
				continue;
			}
		}
		n = char_len(s + i, len - i);
		if (!n)
			return false;
		i += n;
	}
	return true;
}

size_t op_utf8_mend(const char *str, size_t len, char *ret)
{
	const uint8_t *s = (const uint8_t *)str;
	size_t out = 0;
	size_t i = 0;

	while (i < len) {
		size_t n = char_len(s + i, len - i);

		if (n) {
			memcpy(ret + out, s + i, n);
			out += n;
			i += n;
		} else {
			memcpy(ret + out, "\xef\xbf\xbd", 3);
			out += 3;
			i++;
		}
	}
	return out;
}

size_t op_utf8_cut(const char *s, size_t len, size_t max)
{
	size_t back;

	if (len <= max)
		return len;
	/* A character has at most three bytes after its first one. */
	for (back = 0; back < 4 && back < max; back++)
		if (((uint8_t)s[max - back] & 0xc0) != 0x80)
			return max - back;
	return max;
}
