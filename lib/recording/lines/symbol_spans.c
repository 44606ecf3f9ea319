/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/lines/ranges.h"

#include <stdlib.h>

#include "base/macros.h"

static int compare_spans(const void *a, const void *b)
{
	const struct symbol_span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void make(struct symbol_spans *c, Dwfl_Module *module)
{
	int n = dwfl_module_getsymtab(module), i;
	struct symbol_span *spans, *span;
	GElf_Addr address;
	size_t len = 0, at;
	GElf_Sym sym;

	c->is_made = true;
	for (i = 0; i < n; i++) {
		if (!dwfl_module_getsym_info(module, i, &sym, &address, NULL, NULL,
					     NULL) ||
		    !sym.st_size)
			continue;
		span = op_vec_push(&c->spans);
		if (!span) {
			c->is_all = true;
			return;
		}
		*span = (struct symbol_span){ address, address + sym.st_size };
	}
	spans = c->spans.data;
	if (c->spans.len)
		qsort(spans, c->spans.len, sizeof(*spans), compare_spans);
	for (at = 0; at < c->spans.len; at++) {
		if (len && spans[at].start <= spans[len - 1].end) {
			if (spans[at].end > spans[len - 1].end)
				spans[len - 1].end = spans[at].end;
		} else {
			spans[len++] = spans[at];
		}
	}
	c->spans.len = len;
}

bool symbol_spans_has(struct symbol_spans *c, Dwfl_Module *module, GElf_Addr address)
{
	size_t at;

	if (!c->is_made)
		make(c, module);
	at = op_first_where(i, c->spans.len, c->spans.data[i].end > address);
	return c->is_all || (at < c->spans.len && c->spans.data[at].start <= address);
}

void symbol_spans_clear(struct symbol_spans *c)
{
	op_vec_clear(&c->spans);
}
