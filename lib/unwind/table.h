/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An executable's unwind table in the arena: from .eh_frame and .debug_frame, or from
 * .gopclntab, as pages of rows (bpf/include/op_types.h). The file is read in pieces: memory use is bounded by
 * OP_TABLE_WORK_BYTES whatever its size. A record that cannot be read costs its own
 * addresses, not the file.
 */
#ifndef OP_UNWIND_TABLE_H
#define OP_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/slice.h"
#include "elf/file.h"
#include "op_user_types.h"
#include "unwind/arena.h"
#include "unwind/rules.h"

enum {
	OP_TABLE_SEGMENTS_MAX = 16,
	/* One table takes a fourth of the arena at most. */
	OP_TABLE_ARENA_SHARE = 4,
	/* Text for which there are pages, of a file with @n bytes of content: so many times n,
	 * and so much more. What is not in the file has no rows. */
	OP_TABLE_TEXT_FACTOR = 8,
	OP_TABLE_TEXT_MORE = 64 << 20,
	/* The most of user memory at once: FDEs being sorted, windows on the file, the rows
	 * of a page and the page directory. */
	OP_TABLE_WORK_BYTES = 12 * 1024 * 1024,
	/* Bytes between two functions that are taken for padding. */
	OP_TABLE_PADDING_MAX = 15,
	/* From this size on a gap is code of another kind, maybe with frame pointers (the
	 * builtins of V8), and gets OP_RULE_FRAME; a smaller one gets OP_RULE_INVALID. So
	 * it is where code itself does not tell (unwind/code/heights.h). */
	OP_TABLE_GAP_FRAME = 1 << OP_PAGE_SHIFT,
	/* FDEs of a file whose rules may be made twice, to follow a register. */
	OP_TABLE_KEEP_FDES_MAX = 1 << 15,
	/* The ELF entry point where no FDE covers it: so long is _start at most. */
	OP_TABLE_ENTRY_BYTES = 64,
};

/* Where an interpreter's loop stands in the file; from the runtime's probe. */
struct op_table_loop {
	uint32_t runtime; /* enum op_runtime, 0: none */
	uint32_t count;
	uint64_t range[2][2]; /* ELF addresses [first, end) */
};

/* An executable PT_LOAD and its struct op_segment in the arena. */
struct op_table_segment {
	uint64_t vaddr; /* p_vaddr */
	uint64_t memsz;
	uint64_t offset; /* p_offset */
	uint64_t filesz;
	op_ref segment; /* never 0 */
};

struct op_table {
	struct op_table_segment segments[OP_TABLE_SEGMENTS_MAX];
	size_t segments_len;
	uint64_t arena_bytes;
	struct op_rule_set rules;
	uint64_t rows;
	uint64_t fdes;	   /* read */
	uint64_t bad_fdes; /* unreadable, wholly or from some pc on */
	bool wants_kept;   /* a CFA is found by a register that functions keep: rbx */
	uint64_t inexpressible; /* rows left as OP_RULE_INVALID: no op_rule says it */
};

/*
 * Make the table of @elf. It takes no more than OP_TABLE_ARENA_SHARE of the arena and
 * OP_RULES_SET_MAX rules. @loop may be NULL. A file with no unwind information gives a
 * table of no rows (BPF then guesses callers: bpf/walk/guess.h).
 * Returns 0; -ENOSPC past the arena's budget or where all rules are taken (nothing is kept);
 * -EFBIG past its share, or past the work that a file of its size is worth; -ENOMEM; -errno.
 */
int op_table_new(struct op_elf *elf, const struct op_table_loop *loop,
		 struct op_arena *arena, struct op_rules *rules, struct op_log *log,
		 struct op_table **ret);
/* The same in slices. */
struct op_table_job;

/* Begin; all is borrowed but @loop, which is copied. 0, -ENOMEM or -errno. */
int op_table_job_new(struct op_elf *elf, const struct op_table_loop *loop,
		     struct op_arena *arena, struct op_rules *rules, struct op_log *log,
		     struct op_table_job **ret);
/* Give up what was made so far. */
struct op_table_job *op_table_job_free(struct op_table_job *job);
/* Go on. As op_table_new(), and -EINPROGRESS when @slice (may be NULL) is over; after
 * anything else there is nothing left to do. */
int op_table_job_run(struct op_table_job *job, struct op_slice *slice,
		     struct op_table **ret);
/* Release the table's arena memory after its grace, and the table. NULL does nothing. */
struct op_table *op_table_free(struct op_table *table, struct op_arena *arena,
			       struct op_rules *rules, uint64_t now_ns);

/*
 * The rule for an ELF address, as the programs find it: for tests, for `otelprof doctor`
 * and for nothing on a hot path. Runs of pushes and pops are resolved to OP_CFA_SP.
 * Returns 1 and *@ret, or 0 where no row covers it.
 */
int op_table_lookup(const struct op_table *table, struct op_arena *arena,
		    const struct op_rule *rules, uint64_t vaddr, struct op_rule *ret);

#endif
