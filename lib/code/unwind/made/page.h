/* SPDX-License-Identifier: Apache-2.0 */
/* A page of code that a process makes: reads it, makes its rules, and compares it with
 * what was read before. */
#ifndef OP_CODE_UNWIND_MADE_PAGE_H
#define OP_CODE_UNWIND_MADE_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/memory.h"
#include "code/unwind/arena.h"
#include "code/unwind/rules.h"

enum {
	OP_MADE_PAGE_BYTES = 1 << OP_PAGE_SHIFT,
	/* Bytes that are read before and after a page: functions begin and return
	 * there. */
	OP_MADE_BEFORE = 16 << 10,
	OP_MADE_AFTER = 8 << 10,
	OP_MADE_CODE_BYTES = OP_MADE_BEFORE + OP_MADE_PAGE_BYTES + OP_MADE_AFTER,
	OP_MADE_PIECE_BYTES = 256, /* bytes of code that share a hash */
	OP_MADE_PIECES = OP_MADE_CODE_BYTES / OP_MADE_PIECE_BYTES,
};

/* Shared by the pages of one process. All pointers are borrowed. */
struct op_made_reader {
	struct op_arena *arena;
	struct op_unwind_rules *rules;
	const struct op_memory *memory;
	uint64_t seed; /* of hashes */
};

/* Rows in the arena, and the rules that they use. */
struct op_made_rows {
	struct op_page page;
	struct op_unwind_rule_set rules;
};

struct op_made;

struct op_made_page {
	TAILQ_ENTRY(op_made_page) used; /* op_made_pages.used */
	TAILQ_ENTRY(op_made_page) link; /* op_made.pages */
	struct op_made *made;
	const struct op_made_reader *reader;
	uint64_t start;
	uint64_t from; /* the code that was read: the page and what is around it */
	uint64_t to;
	struct op_made_rows rows; /* as published; NULL: the page was not read */
	uint64_t first_ns;	  /* when it was first published; CLOCK_MONOTONIC */
	uint64_t since_ns;	  /* when `rows` were */
	uint64_t again_ns;	  /* it is not read again before this time */
	uint64_t wait_ns;
	bool wide; /* more is read around it, because its functions are large */
	bool vain; /* more was read, and gave no rule */
	/* the addresses that samples hit since `rows` were made: the first and the last */
	uint64_t hit_first;
	uint64_t hit_last; /* lower: none */
	uint64_t hash[OP_MADE_PIECES];
	bool bad[OP_MADE_PIECES]; /* was it not read, or has it changed? */
};

/* Read the page as a part of the mapping [@start, @end), and make its rows. Returns 0 or -errno. */
int op_made_page_read(struct op_made_page *page, uint64_t start, uint64_t end,
		      struct op_made_rows *ret);
/* @now_ns: as for op_arena_release(). */
void op_made_rows_release(const struct op_made_reader *reader, struct op_made_rows *rows,
			  uint64_t now_ns);
/* Does it have a rule at @addr? */
bool op_made_page_has_rule(const struct op_made_page *page, uint64_t addr);
/* Was the code at @addr, at the last comparison, the same as when the page was read? */
bool op_made_page_is_same(const struct op_made_page *page, uint64_t addr);
/* May reading more code around the page, in the mapping [@start, @end), give the rule
 * at @addr? */
bool op_made_page_may_widen(const struct op_made_page *page, uint64_t addr,
			    uint64_t start, uint64_t end);
/* Compare the code that samples hit. Returns 1 if some of it has changed since the last
 * time, 0, or -ENOMEM. */
int op_made_page_compare(struct op_made_page *page);

#endif
