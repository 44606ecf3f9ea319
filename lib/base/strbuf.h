/* SPDX-License-Identifier: Apache-2.0 */
/* A growing string. `struct op_strbuf s = { 0 };` is empty. A failure is sticky. */
#ifndef OP_BASE_STRBUF_H
#define OP_BASE_STRBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

struct op_strbuf {
	char *data; /* NUL-terminated, or NULL while empty */
	size_t len;
	size_t cap;
	bool failed; /* an allocation failed: the text is cut */
};

void op_strbuf_add(struct op_strbuf *s, const void *bytes, size_t len);
void op_strbuf_puts(struct op_strbuf *s, const char *text);
/* Add the character @c as UTF-8. NUL and invalid characters become U+FFFD. */
void op_strbuf_utf8(struct op_strbuf *s, uint32_t c);
void op_strbuf_printf(struct op_strbuf *s, const char *fmt, ...) _op_printf_(2, 3);
/* Empty it, keep the memory. */
void op_strbuf_reset(struct op_strbuf *s);
void op_strbuf_deinit(struct op_strbuf *s);

#endif
