/* SPDX-License-Identifier: Apache-2.0 */
#include "base/foreign/text.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Characters that are not shown: Unicode's control and format characters, line
 * separators, variation selectors, fillers, and noncharacters. */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0x00, 0x1f },	      { 0x7f, 0x9f },	    { 0xad, 0xad },
	{ 0x34f, 0x34f },     { 0x600, 0x605 },	    { 0x61c, 0x61c },
	{ 0x6dd, 0x6dd },     { 0x70f, 0x70f },	    { 0x890, 0x891 },
	{ 0x8e2, 0x8e2 },     { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },   { 0x200b, 0x200f },   { 0x2028, 0x202e },
	{ 0x2060, 0x206f },   { 0x3164, 0x3164 },   { 0xfe00, 0xfe0f },
	{ 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },
	{ 0xfffe, 0xffff },   { 0x110bd, 0x110bd }, { 0x110cd, 0x110cd },
	{ 0x13430, 0x1343f }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
	{ 0xe0000, 0xe0fff },
};

size_t op_text_char(const char *text, size_t len)
{
	const uint8_t *s = (const uint8_t *)text;
	uint8_t low = 0x80;
	uint8_t high = 0xbf;
	size_t n, i;

	if (!len)
		return 0;
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

static uint32_t code_of(const uint8_t *s, size_t n)
{
	uint32_t c = n == 1 ? s[0] : s[0] & (0xffu >> (n + 1));
	size_t i;

	for (i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3f);
	return c;
}

static bool is_hidden(uint32_t c)
{
	size_t i;

	for (i = 0; i < sizeof(hidden) / sizeof(hidden[0]) && c >= hidden[i].first; i++)
		if (c <= hidden[i].last)
			return true;
	return false;
}

size_t op_text_show_char(const char *s, size_t len, char ret[OP_TEXT_CHAR_BYTES])
{
	size_t n = op_text_char(s, len);
	uint32_t c = n ? code_of((const uint8_t *)s, n) : (uint8_t)*s;

	if (!n || (c < 0x80 && is_hidden(c))) {
		(void)snprintf(ret, OP_TEXT_CHAR_BYTES, "\\x%02x", c);
	} else if (is_hidden(c)) {
		(void)snprintf(ret, OP_TEXT_CHAR_BYTES,
			       c > UINT16_MAX ? "\\U%08x" : "\\u%04x", c);
	} else {
		memcpy(ret, s, n);
		ret[n] = '\0';
	}
	return n ? n : 1;
}

size_t op_text_show(const char *s, size_t len, char *ret, size_t size)
{
	char shown[OP_TEXT_CHAR_BYTES];
	size_t at = 0, i = 0, n;

	while (i < len) {
		i += op_text_show_char(s + i, len - i, shown);
		n = strlen(shown);
		if (n >= size - at)
			break;
		memcpy(ret + at, shown, n);
		at += n;
	}
	ret[at] = '\0';
	return at;
}

size_t op_text_format(char *ret, size_t size, const char *fmt, va_list ap)
{
	/* vsnprintf() cuts behind the part that is shown, so no character is cut in
	 * two. */
	char raw[2 * OP_TEXT_LINE_BYTES];

	assert(size <= OP_TEXT_LINE_BYTES);
	(void)vsnprintf(raw, sizeof(raw), fmt, ap);
	return op_text_show(raw, strlen(raw), ret, size);
}
