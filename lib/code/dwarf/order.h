/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The FDEs of a section in ascending order of their first address. They come from the
 * search table in .eh_frame_hdr if it can be trusted; else the section is read and
 * sorted, in as many rounds as bounded memory requires.
 */
#ifndef OP_CODE_DWARF_ORDER_H
#define OP_CODE_DWARF_ORDER_H

#include "base/allowance.h"
#include "code/dwarf/entry.h"

struct op_cfi_place {
	uint64_t start;
	uint64_t off;
};

enum op_cfi_order_state {
	OP_CFI_ORDER_CHECK,    /* the search table is being checked */
	OP_CFI_ORDER_BY_TABLE, /* the table can be trusted and is used */
	OP_CFI_ORDER_ROUND,    /* the section is being read for the next places */
	OP_CFI_ORDER_SORTED,   /* the places of the round are sorted */
};

struct op_cfi_order {
	struct op_cfi *cfi;
	enum op_cfi_order_state state;
	/* the table's entries: two words of 4 bytes each */
	struct op_dwarf_section table;
	uint64_t table_base; /* address that they are relative to */
	uint64_t table_at;
	struct op_cfi_place before; /* the entry before, in OP_CFI_ORDER_CHECK */
	/* Reading the section: the position, and the first place that is left to a later
	 * round. */
	uint64_t round_at;
	struct op_cfi_place limit;
	/* The places of this round; `at` is the next one to give. */
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
/* User memory in use. */
size_t op_cfi_order_bytes(const struct op_cfi_order *order);
/* Get the offset of the next FDE. Returns 1, 0 at the end, -EINPROGRESS when @allowance (may
 * be NULL) is over, or -errno. */
int op_cfi_order_next(struct op_cfi_order *order, struct op_allowance *allowance,
		      uint64_t *ret);

#endif
