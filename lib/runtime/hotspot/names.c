/* SPDX-License-Identifier: Apache-2.0 */
/* Converts class names and modified UTF-8. */
#include "runtime/hotspot/names.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Decode one character of modified UTF-8 (class file format): 1 to 3 bytes. Returns the
 * number of bytes, 0 if they are invalid. */
static size_t decode(const uint8_t *p, size_t left, uint32_t *ret)
{
	if (p[0] && p[0] < 0x80) {
		*ret = p[0];
		return 1;
	}
	if ((p[0] & 0xe0) == 0xc0 && left >= 2 && (p[1] & 0xc0) == 0x80) {
		*ret = (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
		return 2;
	}
	if ((p[0] & 0xf0) == 0xe0 && left >= 3 && (p[1] & 0xc0) == 0x80 &&
	    (p[2] & 0xc0) == 0x80) {
		*ret = (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
		return 3;
	}
	return 0;
}

void op_runtime_hotspot_utf8(struct op_strbuf *to, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	size_t i = 0;

	while (i < len) {
		uint32_t c = 0xfffd;
		uint32_t low;
		size_t n = decode(p + i, len - i, &c);

		i += n ? n : 1;
		if (c >= 0xd800 && c < 0xdc00 && i < len &&
		    decode(p + i, len - i, &low) == 3 && low >= 0xdc00 && low < 0xe000) {
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
			i += 3;
		}
		op_strbuf_utf8(to, c);
	}
}

/* The offset of a hidden class's number, or @len. */
static size_t without_number(const char *p, size_t len)
{
	size_t i = len;

	while (i > 0 && strchr("0123456789abcdefx", p[i - 1]))
		i--;
	if (i > 1 && i + 2 < len && p[i - 1] == '+' && p[i] == '0' && p[i + 1] == 'x')
		return i - 1;
	return len;
}

void op_runtime_hotspot_class(struct op_strbuf *to, const void *bytes, size_t len)
{
	size_t from = to->len;
	size_t i;

	op_runtime_hotspot_utf8(to, bytes, without_number(bytes, len));
	for (i = from; !to->failed && i < to->len; i++)
		if (to->data[i] == '/')
			to->data[i] = '.';
}
