/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses of a module a symbol covers. libdw goes through all symbols for each address
 * that is looked up, and in a stripped program most have none. */
#ifndef OP_RECORDING_LINES_SYMBOL_SPANS_H
#define OP_RECORDING_LINES_SYMBOL_SPANS_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

#include "base/vec.h"

struct symbol_span {
	GElf_Addr start;
	GElf_Addr end;
};

struct symbol_spans {
	bool is_made;
	bool is_all; /* there was no memory to tell */
	OP_VEC(struct symbol_span) spans;
};

/* May a symbol of the module cover this address of it? */
bool symbol_spans_has(struct symbol_spans *c, Dwfl_Module *module, GElf_Addr address);
void symbol_spans_clear(struct symbol_spans *c);

#endif
