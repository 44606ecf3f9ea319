/* SPDX-License-Identifier: Apache-2.0 */
/* Checks, mends and cuts UTF-8. */
#include "profile/utf8.h"

#include <stdint.h>
#include <string.h>

#include "base/foreign/text.h"

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
		n = op_text_char(str + i, len - i);
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
		size_t n = op_text_char(str + i, len - i);

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
