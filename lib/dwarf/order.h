/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The FDEs of a section in ascending order of their first address: from the search table
 * in .eh_frame_hdr where it can be trusted, else by walking the section and sorting, in
 * as many rounds as bounded memory asks for.
 */
#ifndef OP_DWARF_ORDER_H
#define OP_DWARF_ORDER_H

#include "base/slice.h"
#include "dwarf/entry.h"

struct op_cfi_place {
	uint64_t start;
	uint64_t off;
};

enum op_cfi_order_state {
	OP_CFI_ORDER_CHECK,    /* the search table is looked at */
	OP_CFI_ORDER_BY_TABLE, /* it can be trusted */
	OP_CFI_ORDER_ROUND,    /* the section is read for the next places */
	OP_CFI_ORDER_SORTED,   /* they are in order */
};

struct op_cfi_order {
	struct op_cfi *cfi;
	enum op_cfi_order_state state;
	struct op_dwarf_section table; /* its entries: pairs of 4 bytes */
	uint64_t table_base;	       /* address they count from */
	uint64_t table_at;
	struct op_cfi_place before; /* of OP_CFI_ORDER_CHECK */
	/* of a walk: how far the section was read, and what lies behind this round */
	uint64_t round_at;
	struct op_cfi_place limit;
	/* the places of this round, and where the next one begins */
	struct op_cfi_place *places;
	size_t len;
	size_t cap;
	size_t at;
	struct op_cfi_place last;
	bool first_round;
	bool more;
	uint64_t broken; /* records that could not be placed */
};

void op_cfi_order_init(struct op_cfi_order *order, struct op_cfi *cfi);
void op_cfi_order_deinit(struct op_cfi_order *order);
/* The offset of the next FDE. Returns 1, 0 at the end, -EINPROGRESS when @slice (may be
 * NULL) is over, or -errno. */
int op_cfi_order_next(struct op_cfi_order *order, struct op_slice *slice, uint64_t *ret);

#endif
