/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses of a module a symbol covers. libdw goes through all symbols for each address
 * that is looked up, and in a stripped program most have none. */
#ifndef OP_RECORDING_LINES_COVERED_H
#define OP_RECORDING_LINES_COVERED_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

#include "base/vec.h"

struct span {
	GElf_Addr start;
	GElf_Addr end;
};

struct covered {
	bool is_made;
	bool is_all; /* there was no memory to tell */
	OP_VEC(struct span) spans;
};

/* May a symbol of the module cover this address of it? */
bool covered_has(struct covered *c, Dwfl_Module *module, GElf_Addr address);
void covered_clear(struct covered *c);

#endif
