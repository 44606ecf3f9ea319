/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the pages of a table from functions and their rows, which must come in
 * ascending order of address. The builder keeps one row back, because a later row at
 * the same pc replaces it. It joins rows with equal neighbours and into runs of pushes
 * and pops, and writes them to the page.
 */
#ifndef OP_CODE_UNWIND_BUILDER_H
#define OP_CODE_UNWIND_BUILDER_H

#include <stdbool.h>

#include "base/vec.h"
#include "code/unwind/table.h"

enum {
	OP_BUILDER_PAGES_MAX = OP_SLAB_BYTES / sizeof(struct op_page), /* 8 GiB of text */
};

/* A rule from a pc on and, if it is a run of pushes or pops, its steps. */
struct op_builder_row {
	bool set;
	uint64_t pc;
	struct op_unwind_rule rule; /* the plain rule at pc */
	int32_t now;		    /* cfa_off after the steps */
	uint32_t steps;		    /* bit i: a step i + 1 bytes after pc */
	int32_t step;		    /* +8 or -8, 0 while there are no steps */
};

struct op_builder;

/* Give @b rows for [@start, @end), which no function covers, by op_builder_gap_row();
 * @none is the rule for parts without one. Returns 0 or -errno. */
typedef int (*op_builder_gap_fn)(void *data, struct op_builder *b, uint64_t start,
				 uint64_t end, struct op_unwind_rule none);

struct op_builder {
	struct op_arena *arena;
	struct op_unwind_rules *rules;
	struct op_unwind_table *table; /* owned by the caller; segments are filled in */
	uint64_t share;		       /* bytes of the arena that this table may use */
	uint64_t entry;		       /* entry point of the ELF file; 0: none */
	op_builder_gap_fn gap;	       /* NULL: gaps have one rule each */
	void *gap_data;
	uint64_t gap_start; /* the gap whose rows are being given */
	uint64_t gap_end;
	struct op_unwind_rule gap_rule; /* rule of its last row */
	bool stopping;	   /* the function of the entry point has begun in the gap */
	size_t segment;	   /* being made */
	bool open;	   /* a function was seen in `segment` */
	uint64_t base;	   /* address of page 0 of `segment` */
	uint64_t covered;  /* end of the functions so far */
	uint64_t function; /* rows of the current function begin here */
	struct op_page *pages;
	uint32_t page_count;
	uint32_t page; /* being made */
	OP_VEC(struct op_row) rows;
	struct {
		bool set;
		uint64_t pc;
		struct op_unwind_rule rule;
	} last; /* the row that is kept back */
	struct op_builder_row run;
	bool may_step;			/* space for the rules of another run */
	struct op_unwind_rule in_force; /* rule at the end of the last row in the page */
};

/* @table must have its segments, in ascending order and without pages. */
void op_builder_init(struct op_builder *b, struct op_unwind_table *table,
		     struct op_arena *arena, struct op_unwind_rules *rules,
		     uint64_t entry);
/* Free what the builder owns, and the pages of an unfinished segment. */
void op_builder_deinit(struct op_builder *b);

/* Begin a function [@start, @end); the one before must not start later. Returns 1; 0 if
 * it is not in the text or others cover all of its addresses; -ENOSPC or -ENOMEM. */
int op_builder_function(struct op_builder *b, uint64_t start, uint64_t end);
/* The same for a signal trampoline. It begins one byte early if that byte is free,
 * because a return address is looked up one byte before it. */
int op_builder_signal(struct op_builder *b, uint64_t start, uint64_t end);
/* The same even if another function covers that byte, which is only padding. */
int op_builder_signal_forced(struct op_builder *b, uint64_t start, uint64_t end);
/* @rule holds from @pc on in the current function. Pcs must ascend. Returns 0, -ENOSPC or
 * -ENOMEM. */
int op_builder_row(struct op_builder *b, uint64_t pc, struct op_unwind_rule rule);
/* @rule holds from @pc on in the gap whose rows are being given. Returns as
 * op_builder_row(). */
int op_builder_gap_row(struct op_builder *b, uint64_t pc, struct op_unwind_rule rule);
/* All functions were given: finish the segments. Returns 0, -ENOSPC or -ENOMEM. */
int op_builder_finish(struct op_builder *b);
/* The same for a table that is one page of a segment. *@ret are its rows, which the
 * caller owns. Returns 1, 0 if there was no function, -ENOSPC or -ENOMEM. */
int op_builder_finish_page(struct op_builder *b, struct op_page *ret);

#endif
