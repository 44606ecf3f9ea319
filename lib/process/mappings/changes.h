/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where and when a process replaced a mapping by another. Events and records arrive later
 * than they happen. So the known mapping of a frame's address is the frame's own only if
 * the mapping did not change between the two times.
 */
#ifndef OP_PROCESS_MAPPINGS_CHANGES_H
#define OP_PROCESS_MAPPINGS_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum {
	OP_CHANGES_MAX = 64, /* of one process; the two oldest become one */
};

/* [start, end) changed at a time from since_ns to until_ns (CLOCK_MONOTONIC). */
struct op_change {
	uint64_t start;
	uint64_t end;
	uint64_t since_ns;
	uint64_t until_ns;
	uint64_t base; /* address of offset 0 of the file that came; 0: not a file */
	bool counted;  /* the number of code pages differs before and after */
	/* What was there went, and it is no change until something comes. base: of the file that
	 * went */
	bool gone;
	uint32_t number;
};

struct op_changes {
	OP_VEC(struct op_change) list; /* the oldest first */
	uint32_t number;	       /* counts the mappings' changes of any kind */
};

/* Add a change to the current number of the mappings. Changes that ended before @over_ns
 * are forgotten, if the mappings of @published have them. */
void op_changes_add(struct op_changes *c, const struct op_change *change,
		    uint64_t over_ns, uint32_t published);
/* Did something go from [start, end) that is not the same as what comes there? @file: a file
 * comes. Code that a process makes has no name of its own. */
bool op_changes_has_gone(const struct op_changes *c, uint64_t start, uint64_t end,
			 bool file);
/* Did @addr change before @time_ns, and after the mappings of @number? If @base is not 0,
 * files that came with that base do not count. */
bool op_changes_before(const struct op_changes *c, uint32_t number, uint64_t time_ns,
		       uint64_t addr, uint64_t base);
/* Did @addr change after @time_ns? */
bool op_changes_after(const struct op_changes *c, uint64_t time_ns, uint64_t addr);
/* Did anything change after @time_ns? */
bool op_changes_any_after(const struct op_changes *c, uint64_t time_ns);
/* A sample of @time_ns has the number of code pages of afterwards: counted changes that may be
 * before that were. */
void op_changes_were_before(struct op_changes *c, uint64_t time_ns);
/* Another program runs now: forget what went. */
void op_changes_forget_gone(struct op_changes *c);
/* Make @to a copy with the same numbers. Without memory the newest changes are missing. */
void op_changes_inherit(struct op_changes *to, const struct op_changes *from);
void op_changes_clear(struct op_changes *c);

#endif
