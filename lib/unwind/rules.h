/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of unwind rules that all executables share. Rules are only added: a program
 * may be reading any of them. OP_RULE_INVALID, OP_RULE_STOP and OP_RULE_FRAME are there
 * from the start. A full table gives OP_RULE_INVALID and counts.
 */
#ifndef OP_UNWIND_RULES_H
#define OP_UNWIND_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "op_user_types.h"

struct op_rules;

/* @memory: struct op_rule[@cap], borrowed until op_rules_free(); the kernel's map. */
int op_rules_new(struct op_rule *memory, size_t cap, struct op_rules **ret);
struct op_rules *op_rules_free(struct op_rules *rules);
OP_DEFINE_CLEANUP(struct op_rules *, op_rules_free)

/* The number of @rule, adding it where it is new. */
uint16_t op_rules_intern(struct op_rules *rules, struct op_rule rule);
size_t op_rules_len(const struct op_rules *rules);
uint64_t op_rules_refused(const struct op_rules *rules);

#endif
