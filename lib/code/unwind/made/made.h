/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind rules of code that a process makes while it runs, read from its memory: pages
 * of 64 KiB that samples hit. They are rules of code without unwind data (heights.h),
 * and only functions that return have any.
 *
 * The process may change its code at any time. So a page keeps a hash of each piece of
 * the code that was read. A rule is valid for a sample if the page was published before
 * the sample, and the library reads the same code again after the sample. Otherwise the
 * frame is in doubt.
 */
#ifndef OP_CODE_UNWIND_MADE_MADE_H
#define OP_CODE_UNWIND_MADE_MADE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/allowance.h"
#include "base/memory.h"
#include "code/unwind/arena.h"
#include "code/unwind/rules.h"

enum {
	/* of all processes; the least recently hit one goes first */
	OP_MADE_PAGES_MAX = 256,
	OP_MADE_REGIONS_MAX = 32,	      /* of one process */
	OP_MADE_REGION_BYTES_MAX = 256 << 20, /* larger ones have no rules */
};

/* Of all processes. Zeroes and the first two members are a valid start. */
struct op_made_pages {
	struct op_arena *arena; /* borrowed */
	struct op_unwind_rules *rules;
	TAILQ_HEAD(, op_made_page) used; /* the least recently hit one first */
	size_t len;
	int64_t left_ns; /* of the CPU time for reading pages; negative: owed */
	uint64_t filled_ns;
	uint64_t checked_ns;	  /* code that samples hit was last compared */
	uint64_t changed_ns;	  /* a comparison last found other code; 0: never */
	uint64_t regions_refused; /* OP_MADE_REGIONS_MAX, OP_MADE_REGION_BYTES_MAX */
};

/* State of an address at the time of a sample: */
enum op_made_word {
	OP_MADE_NONE,  /* the walk had no rule: it used frame pointers, or guessed */
	OP_MADE_RULE,  /* it had a rule, which was valid */
	OP_MADE_DOUBT, /* it may have had a rule that was not valid */
};

/* Of one process. */
struct op_made;

void op_made_pages_init(struct op_made_pages *pages, struct op_arena *arena,
			struct op_unwind_rules *rules);
/* When to read samples again, because their code can be compared only while its process lives.
 * 0: no such time. */
uint64_t op_made_pages_next_ns(const struct op_made_pages *pages);
/* @memory is the process's, and borrowed. Returns 0 or -ENOMEM. */
int op_made_new(struct op_made_pages *pages, const struct op_memory *memory,
		struct op_made **ret);
/* NULL does nothing. @now_ns: as for op_arena_release(). */
struct op_made *op_made_free(struct op_made *made, uint64_t now_ns);

/* The segment that holds [@start, @end), or 0. Its ELF addresses are those of the process. */
op_ref op_made_segment(const struct op_made *made, uint64_t start, uint64_t end);
/*
 * A sample of @time_ns has a frame at @addr, in the mapping [@start, @end). Returns the
 * state of its rule, and reads the page if that is due and there is time. @ret_new:
 * there is a new segment, so the process must be published.
 */
enum op_made_word op_made_at(struct op_made *made, uint64_t addr, uint64_t start,
			     uint64_t end, uint64_t time_ns,
			     struct op_allowance *allowance, bool *ret_new);
/*
 * A number that is equal for two samples only if the same rules were valid for both. It
 * compares the code that samples hit, if that was not done since @time_ns.
 */
uint64_t op_made_number(struct op_made *made, uint64_t time_ns,
			struct op_allowance *allowance);
/* Approximate user memory of all processes. */
uint64_t op_made_pages_bytes(const struct op_made_pages *pages);

#endif
