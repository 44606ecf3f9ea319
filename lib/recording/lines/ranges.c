/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/lines/ranges.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/macros.h"

enum {
	RANGES_BACK = 8,  /* overlapping ranges that a lookup examines */
	NESTING_MAX = 64, /* depth of nested namespaces and classes */
};

int ranges_add(struct ranges *r, Dwarf_Die *die, size_t unit)
{
	Dwarf_Addr base, start, end;
	struct range *e;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		e = op_vec_push(&r->items);
		if (!e)
			return -ENOMEM;
		*e = (struct range){ start, end, *die, unit };
	}
	return 0;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void ranges_sort(struct ranges *r)
{
	if (r->items.len)
		qsort(r->items.data, r->items.len, sizeof(*r->items.data),
		      compare_ranges);
}

struct range *ranges_find(const struct ranges *r, Dwarf_Addr pc)
{
	size_t above = op_first_where(i, r->items.len, r->items.data[i].start > pc);
	int back;

	for (back = 0; above && back < RANGES_BACK; above--, back++) {
		if (pc < r->items.data[above - 1].end)
			return &r->items.data[above - 1];
	}
	return NULL;
}

/* Functions are in a unit, or in a namespace or class. */
static int add_functions(struct ranges *ranges, Dwarf_Die *parent, int depth)
{
	Dwarf_Die child;
	int r = 0;

	if (depth == NESTING_MAX || dwarf_child(parent, &child) != 0)
		return 0;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			r = ranges_add(ranges, &child, 0);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type:
			r = add_functions(ranges, &child, depth + 1);
			break;
		}
	} while (!r && dwarf_siblingof(&child, &child) == 0);
	return r;
}

int ranges_add_functions(struct ranges *r, Dwarf_Die *unit)
{
	return add_functions(r, unit, 0);
}
