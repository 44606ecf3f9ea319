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
