/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of unwind rules that all executables share. A rule belongs to the tables that use
 * it (struct op_rule_set) and its place is given to another one after the last of them is
 * gone, once no program can be reading it. OP_RULE_INVALID, OP_RULE_STOP and OP_RULE_FRAME
 * are there from the start and stay.
 *
 * One table takes no more than its share (OP_RULES_SET_MAX): what goes past it is
 * OP_RULE_INVALID, and counted. So it is where all places are taken; the set says so, for
 * tables to be given up.
 */
#ifndef OP_UNWIND_RULES_H
#define OP_UNWIND_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "op_user_types.h"

enum {
	/* Of one executable. The largest ones of a distribution have some 2,000. */
	OP_RULES_SET_MAX = OP_RULES_MAX / 4,
};

struct op_rules;

/* The rules of one table, each once. All zeroes is an empty one. */
struct op_rule_set {
	OP_VEC(uint16_t) numbers;
	uint8_t *has; /* a bit for each number, while the table is made */
	bool full;    /* there was no place for a rule */
};

/* @memory: struct op_rule[@cap], borrowed until op_rules_free(); the kernel's map. */
int op_rules_new(struct op_rule *memory, size_t cap, struct op_rules **ret);
struct op_rules *op_rules_free(struct op_rules *rules);
OP_DEFINE_CLEANUP(struct op_rules *, op_rules_free)

/* The number of @rule in @set, adding it where it is new to either. */
uint16_t op_rules_intern(struct op_rules *rules, struct op_rule_set *set,
			 struct op_rule rule);
/* The table is made: nothing is added to @set any more. */
void op_rule_set_close(struct op_rule_set *set);
/* Its table is gone; @now_ns as of op_arena_release(). @set is empty then. */
void op_rules_release(struct op_rules *rules, struct op_rule_set *set, uint64_t now_ns);
/* Let places whose grace is over be given out again. */
void op_rules_reclaim(struct op_rules *rules, uint64_t now_ns);

/* Places in use, and the highest number of them + 1. */
size_t op_rules_used(const struct op_rules *rules);
size_t op_rules_len(const struct op_rules *rules);
uint64_t op_rules_refused(const struct op_rules *rules);

#endif
