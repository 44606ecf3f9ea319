/* SPDX-License-Identifier: Apache-2.0 */
/* The code of the units of a file, or of the functions of a unit. */
#ifndef OP_RECORDING_LINES_RANGES_H
#define OP_RECORDING_LINES_RANGES_H

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

/* The code of a unit or of a function. */
struct range {
	Dwarf_Addr start;
	Dwarf_Addr end;
	Dwarf_Die die;
	size_t unit; /* for units: the number of the unit */
};

struct ranges {
	OP_VEC(struct range) items;
};

/* Add the code of @die. Returns 0 or -ENOMEM. */
int ranges_add(struct ranges *r, Dwarf_Die *die, size_t unit);
/* Add the functions of a unit. Returns 0 or -ENOMEM. */
int ranges_add_functions(struct ranges *r, Dwarf_Die *unit);
/* Call this before ranges_find(), after all were added. */
void ranges_sort(struct ranges *r);
/* The range that holds @pc, the innermost one if they overlap. NULL: none. */
struct range *ranges_find(const struct ranges *r, Dwarf_Addr pc);

/* The addresses of a module that symbols cover. libdw goes through all symbols for each
 * address that is looked up, and in a stripped program most addresses have none. */
struct symbol_span {
	GElf_Addr start;
	GElf_Addr end;
};

struct symbol_spans {
	bool is_made;
	bool is_all; /* there was no memory to find out */
	OP_VEC(struct symbol_span) spans;
};

/* May a symbol of the module cover this address of it? */
bool symbol_spans_has(struct symbol_spans *c, Dwfl_Module *module, GElf_Addr address);
void symbol_spans_clear(struct symbol_spans *c);

#endif
