/* SPDX-License-Identifier: Apache-2.0 */
/* Appends to a growing string; after a failed allocation it stays as it is. */
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void op_strbuf_add(struct op_strbuf *s, const void *bytes, size_t len)
{
	if (s->failed || op_vec_grow((void **)&s->data, &s->cap, s->len, len + 1, 1)) {
		s->failed = true;
		return;
	}
	if (len)
		memcpy(s->data + s->len, bytes, len);
	s->len += len;
	s->data[s->len] = 0;
}

void op_strbuf_puts(struct op_strbuf *s, const char *text)
{
	op_strbuf_add(s, text, strlen(text));
}

void op_strbuf_utf8(struct op_strbuf *s, uint32_t c)
{
	/* first byte, by the number of bytes that follow */
	static const uint8_t marks[] = { 0, 0xc0, 0xe0, 0xf0 };
	uint8_t bytes[OP_ARRAY_SIZE(marks)];
	uint32_t more;
	uint32_t i;

	if (!c || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		c = 0xfffd;
	more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	bytes[0] = (uint8_t)(marks[more] | c >> 6 * more);
	for (i = 1; i <= more; i++)
		bytes[i] = (uint8_t)(0x80 | (c >> 6 * (more - i) & 0x3f));
	op_strbuf_add(s, bytes, more + 1);
}

void op_strbuf_printf(struct op_strbuf *s, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || s->failed ||
	    op_vec_grow((void **)&s->data, &s->cap, s->len, (size_t)n + 1, 1)) {
		s->failed = true;
		return;
	}
	va_start(ap, fmt);
	(void)vsnprintf(s->data + s->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	s->len += (size_t)n;
}

void op_strbuf_reset(struct op_strbuf *s)
{
	s->len = 0;
	s->failed = false;
	if (s->data)
		s->data[0] = 0;
}

void op_strbuf_deinit(struct op_strbuf *s)
{
	free(s->data);
	memset(s, 0, sizeof(*s));
}
