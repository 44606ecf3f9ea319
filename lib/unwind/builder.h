/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the pages of a table from functions and their rows, which come in ascending order
 * of address. Rows pass through: one kept back (a later one at the same pc replaces it),
 * then joined with equal neighbours and into runs of pushes and pops, then into the page.
 */
#ifndef OP_UNWIND_BUILDER_H
#define OP_UNWIND_BUILDER_H

#include <stdbool.h>

#include "base/vec.h"
#include "unwind/table.h"

enum {
	OP_BUILDER_PAGES_MAX = OP_SLAB_BYTES / sizeof(struct op_page), /* 8 GiB of text */
};

/* A rule from a pc on; and where it is a run of pushes or pops, its steps. */
struct op_builder_row {
	bool set;
	uint64_t pc;
	struct op_rule rule; /* the plain rule at pc */
	int32_t now;	     /* cfa_off after the steps */
	uint32_t steps;	     /* bit i: a step i + 1 bytes after pc */
	int32_t step;	     /* +8 or -8, 0 while there are no steps */
};

struct op_builder;

/* Give @b rows of [@start, @end), which no function covers, by op_builder_gap_row(); @none
 * where there are none. 0 or -errno. */
typedef int (*op_builder_gap_fn)(void *data, struct op_builder *b, uint64_t start,
				 uint64_t end, struct op_rule none);

struct op_builder {
	struct op_arena *arena;
	struct op_rules *rules;
	struct op_table *table; /* owned by the caller; segments are filled in */
	uint64_t share;		/* bytes of the arena */
	uint64_t entry;		/* of the ELF, 0: none */
	op_builder_gap_fn gap;	/* NULL: gaps have one rule each */
	void *gap_data;
	uint64_t gap_start; /* of the gap that is given */
	uint64_t gap_end;
	struct op_rule gap_rule; /* its last row's */
	bool stopping;		 /* its rows are those of the entry point's function */
	size_t segment;		 /* being made */
	bool open;		 /* a function was seen in it */
	uint64_t base;		 /* address of its page 0 */
	uint64_t covered;	 /* functions end here so far */
	uint64_t function;	 /* rows of the current function begin here */
	struct op_page *pages;
	uint32_t page_count;
	uint32_t page; /* being made */
	OP_VEC(struct op_row) rows;
	struct {
		bool set;
		uint64_t pc;
		struct op_rule rule;
	} last; /* kept back */
	struct op_builder_row run;
	bool may_step;		 /* there are rules enough for another run */
	struct op_rule in_force; /* at the end of what is in the page */
};

/* @table has its segments, in ascending order, with no pages yet. */
void op_builder_init(struct op_builder *b, struct op_table *table, struct op_arena *arena,
		     struct op_rules *rules, uint64_t entry);
/* Release what it owns, and the pages of a segment that was not finished. */
void op_builder_deinit(struct op_builder *b);

/*
 * A function [@start, @end) begins; the one before must not start later. Returns 1; 0
 * where it is not in the text or another has all of its addresses; -ENOSPC, -ENOMEM.
 */
int op_builder_function(struct op_builder *b, uint64_t start, uint64_t end);
/* The same of a signal trampoline: it begins a byte early, where one is free, because
 * its address is looked up as return addresses are. */
int op_builder_signal(struct op_builder *b, uint64_t start, uint64_t end);
/* The same also where the byte is not free: where what covers it is padding. */
int op_builder_signal_forced(struct op_builder *b, uint64_t start, uint64_t end);
/* @rule holds from @pc on in the current function. Pcs ascend. 0, -ENOSPC, -ENOMEM. */
int op_builder_row(struct op_builder *b, uint64_t pc, struct op_rule rule);
/* @rule holds from @pc on in the gap that is asked for. As op_builder_row(). */
int op_builder_gap_row(struct op_builder *b, uint64_t pc, struct op_rule rule);
/* All functions were given: finish the segments. 0, -ENOSPC, -ENOMEM. */
int op_builder_finish(struct op_builder *b);

#endif
