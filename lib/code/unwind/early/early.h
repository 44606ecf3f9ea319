/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of a table that are made before the others, because samples hit them. Programs
 * can use those of a large file within a millisecond, while the table is made in
 * slices. The search table of .eh_frame_hdr leads to their FDEs.
 *
 * The segments are published. Pages that are not made yet have OP_UNWIND_RULE_LATE. So
 * do addresses without an FDE, because the table may have more rules. But where there is so
 * much code without FDEs that reading it takes seconds, x86-64 code is read in the pages that
 * were hit, and elsewhere callers are guessed. The complete table then replaces these pages.
 */
#ifndef OP_CODE_UNWIND_EARLY_EARLY_H
#define OP_CODE_UNWIND_EARLY_EARLY_H

#include "code/unwind/table.h"

enum {
	/* The table of a file with fewer FDEs takes less than a millisecond. */
	OP_UNWIND_EARLY_FDES_MIN = 4096,
	/* Less code without FDEs is read within some tenths of a second. */
	OP_UNWIND_EARLY_CODE_MIN = 8 << 20,
};

struct op_unwind_early;

/* Returns 1 and *@ret; 0 if the file has neither a search table nor much code, or is small;
 * -ENOSPC; -ENOMEM. All arguments are borrowed except @loop, which may be NULL. */
int op_unwind_early_new(struct op_elf *elf, const struct op_unwind_table_loop *loop,
			struct op_arena *arena, struct op_unwind_rules *rules,
			struct op_unwind_early **ret);
/* NULL does nothing. @now_ns: as for op_arena_release(). */
struct op_unwind_early *op_unwind_early_free(struct op_unwind_early *early,
					     uint64_t now_ns);
/* Make the page of ELF address @vaddr, or its block of a page with many functions. Returns 1
 * if it exists; 0 if it cannot be made; -ENOSPC; -ENOMEM; or -errno of reading. @now_ns: as
 * for op_arena_release(). */
int op_unwind_early_page(struct op_unwind_early *early, uint64_t vaddr, uint64_t now_ns);
/* The segment that begins at ELF address @vaddr, or 0. */
op_ref op_unwind_early_segment(const struct op_unwind_early *early, uint64_t vaddr);
/* The table is complete: replace these pages by its own. @table gets the segments, and
 * the caller frees @early. */
void op_unwind_early_complete(struct op_unwind_early *early,
			      struct op_unwind_table *table, uint64_t now_ns);
/* There will be no table. For code in pages that were not made as a whole, the programs
 * guess callers. @now_ns: as for op_arena_release(). */
void op_unwind_early_give_up(struct op_unwind_early *early, uint64_t now_ns);
/* Was op_unwind_early_give_up() called? */
bool op_unwind_early_is_over(const struct op_unwind_early *early);
/* Bytes of the arena, and approximate user memory. */
uint64_t op_unwind_early_arena_bytes(const struct op_unwind_early *early);
size_t op_unwind_early_bytes(const struct op_unwind_early *early);

#endif
