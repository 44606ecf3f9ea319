/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of unwind rules that all executables share. The tables that use a rule hold
 * references to it (struct op_unwind_rule_set). When the last reference is gone and no
 * program can be reading the rule, its number is used for another one.
 * OP_UNWIND_RULE_INVALID, OP_UNWIND_RULE_STOP and OP_UNWIND_RULE_FRAME always exist.
 *
 * One table uses at most OP_UNWIND_RULES_SET_MAX rules. A further rule becomes
 * OP_UNWIND_RULE_INVALID and counts as refused. The same happens when all numbers are
 * taken. op_unwind_rule_set.full shows that, so that the library can give up other
 * tables.
 */
#ifndef OP_CODE_UNWIND_RULES_H
#define OP_CODE_UNWIND_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "op_user_types.h"

enum {
	/* Rules of one executable. The largest executables of a distribution have some
	 * 2,000. */
	OP_UNWIND_RULES_SET_MAX = OP_UNWIND_RULES_MAX / 4,
};

struct op_unwind_rules;

/* The rules of one table, each of them once. A set of zeroes is empty. */
struct op_unwind_rule_set {
	OP_VEC(uint16_t) numbers;
	uint8_t *has; /* a bit for each number; only while the table is being made */
	bool full;    /* there was no number left for a rule */
};

/* @memory is struct op_unwind_rule[@cap], the mapping of the programs' map; it is borrowed until
 * op_unwind_rules_free(). */
int op_unwind_rules_new(struct op_unwind_rule *memory, size_t cap,
			struct op_unwind_rules **ret);
struct op_unwind_rules *op_unwind_rules_free(struct op_unwind_rules *rules);
OP_DEFINE_CLEANUP(struct op_unwind_rules *, op_unwind_rules_free)

/* The number of @rule, which is added to the table and to @set if it is new there. */
uint16_t op_unwind_rules_intern(struct op_unwind_rules *rules,
				struct op_unwind_rule_set *set,
				struct op_unwind_rule rule);
/* The table is complete: @set gets no more rules. */
void op_unwind_rule_set_close(struct op_unwind_rule_set *set);
/* The table of @set is gone: release its rules. @set is empty then. @now_ns is as for
 * op_arena_release(). */
void op_unwind_rules_release(struct op_unwind_rules *rules,
			     struct op_unwind_rule_set *set, uint64_t now_ns);
/* Make numbers whose grace period is over available again. */
void op_unwind_rules_reclaim(struct op_unwind_rules *rules, uint64_t now_ns);

/* The rule with that number, as programs read it. */
const struct op_unwind_rule *op_unwind_rules_get(const struct op_unwind_rules *rules,
						 uint16_t number);

/* Numbers in use; and the highest number that was ever used, + 1. */
size_t op_unwind_rules_used(const struct op_unwind_rules *rules);
size_t op_unwind_rules_len(const struct op_unwind_rules *rules);
uint64_t op_unwind_rules_refused(const struct op_unwind_rules *rules);
/* User memory in use, without the map's. */
size_t op_unwind_rules_bytes(const struct op_unwind_rules *rules);

#endif
