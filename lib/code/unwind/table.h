/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind table of an executable in the arena, made from .eh_frame and .debug_frame or
 * from .gopclntab: pages of rows (bpf/include/op_arena.h). The file is read in pieces, so
 * that at most OP_UNWIND_TABLE_WORK_BYTES of memory are used, whatever its size. A record that
 * cannot be read costs only its own addresses.
 */
#ifndef OP_CODE_UNWIND_TABLE_H
#define OP_CODE_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/allowance.h"
#include "base/log.h"
#include "code/elf/file.h"
#include "code/unwind/arena.h"
#include "code/unwind/rules.h"
#include "op_user_types.h"

enum {
	OP_UNWIND_TABLE_SEGMENTS_MAX = 16,
	/* One table takes at most a quarter of the arena. */
	OP_UNWIND_TABLE_ARENA_SHARE = 4,
	/* A file with n bytes of content has pages for at most this many times n bytes
	 * of text, and this many bytes more. Text that is not in the file has no rows. */
	OP_UNWIND_TABLE_TEXT_FACTOR = 8,
	OP_UNWIND_TABLE_TEXT_MORE = 64 << 20,
	/* The most memory of this process that making a table uses at a time: FDEs being
	 * sorted, windows on the file, the rows of a page and the page directory. */
	OP_UNWIND_TABLE_WORK_BYTES = 12 * 1024 * 1024,
	/* A gap between two functions of at most this many bytes counts as padding. */
	OP_UNWIND_TABLE_PADDING_MAX = 15,
	/*
	 * A gap of at least this size is code of another kind, maybe with frame
	 * pointers (the builtins of V8), and gets OP_UNWIND_RULE_FRAME. A smaller one
	 * gets OP_UNWIND_RULE_INVALID. This is the rule for parts whose instructions
	 * give none (code/unwind/heights/heights.h).
	 */
	OP_UNWIND_TABLE_GAP_FRAME = 1 << OP_PAGE_SHIFT,
	/* A file with at most this many FDEs may be read twice, to follow a register. */
	OP_UNWIND_TABLE_KEEP_FDES_MAX = 1 << 15,
	/* If no FDE covers the ELF entry point, _start is taken to have at most this many
	 * bytes. */
	OP_UNWIND_TABLE_ENTRY_BYTES = 64,
};

/* The interpreter's loop in the file, as the runtime's probe found it. */
struct op_unwind_table_loop {
	uint32_t runtime; /* enum op_runtime, 0: none */
	uint32_t count;
	uint64_t range[2][2]; /* ELF addresses [first, end) */
};

/* An executable PT_LOAD and its struct op_segment in the arena. */
struct op_unwind_table_segment {
	uint64_t vaddr; /* p_vaddr */
	uint64_t memsz;
	uint64_t offset; /* p_offset */
	uint64_t filesz;
	op_ref segment; /* never 0 */
};

struct op_unwind_table {
	struct op_unwind_table_segment segments[OP_UNWIND_TABLE_SEGMENTS_MAX];
	size_t segments_len;
	uint64_t arena_bytes;
	struct op_unwind_rule_set rules;
	uint64_t rows;
	uint64_t fdes;	   /* FDEs that were read */
	uint64_t unread;   /* bytes of code without unwind data that exceed the limit */
	uint64_t bad_fdes; /* FDEs that were unreadable, wholly or from some pc on */
	bool wants_kept;   /* a CFA is computed from rbx, which functions preserve */
	/* rows with OP_UNWIND_RULE_INVALID, since no op_unwind_rule can express them */
	uint64_t inexpressible;
};

/* Collect the executable segments of @elf. */
void op_unwind_table_find_segments(struct op_elf *elf, struct op_unwind_table *table);
/* Write the interpreter's loop into the segments that contain it. */
void op_unwind_table_set_loop(const struct op_unwind_table *table, struct op_arena *arena,
			      const struct op_unwind_table_loop *loop);

struct op_unwind_table_job;

/* Begin the table of @elf. All arguments are borrowed except @loop, which is copied and
 * may be NULL. Returns 0, -ENOMEM or -errno. */
int op_unwind_table_job_new(struct op_elf *elf, const struct op_unwind_table_loop *loop,
			    struct op_arena *arena, struct op_unwind_rules *rules,
			    struct op_log *log, struct op_unwind_table_job **ret);
/* Free the job and what was made so far. */
struct op_unwind_table_job *op_unwind_table_job_free(struct op_unwind_table_job *job);
/* Approximate user memory of the job, at most OP_UNWIND_TABLE_WORK_BYTES. */
size_t op_unwind_table_job_bytes(const struct op_unwind_table_job *job);
/*
 * Continue the table. It takes at most OP_UNWIND_TABLE_ARENA_SHARE of the arena and
 * OP_UNWIND_RULES_SET_MAX rules. A file without unwind information gives a table
 * without rows (the programs then guess callers: bpf/walk/guess.h). Returns
 * -EINPROGRESS when @allowance (may be NULL) is used up. Otherwise the job is over: 0;
 * -ENOSPC past the arena's budget or if all rules are taken (nothing is kept); -EFBIG
 * past its share, or past the work that a file of its size may cost; -ENOMEM; or
 * -errno.
 */
int op_unwind_table_job_run(struct op_unwind_table_job *job,
			    struct op_allowance *allowance, struct op_unwind_table **ret);
/* Release the table's arena memory, which has a grace period, and free the table. NULL
 * does nothing. */
struct op_unwind_table *op_unwind_table_free(struct op_unwind_table *table,
					     struct op_arena *arena,
					     struct op_unwind_rules *rules,
					     uint64_t now_ns);

#endif
