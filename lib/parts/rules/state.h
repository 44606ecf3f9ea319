/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share: the rules, and the kernel's table of what they say
 * (rule_table.c). */
#ifndef OP_PARTS_RULES_STATE_H
#define OP_PARTS_RULES_STATE_H

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "parts/rules/matches.h"
#include "parts/rules/rule_set.h"

/* Rules of the same target stand in a list, the one added last first. */
struct op_rule {
	struct otelprof_rule of; /* its text is ours */
	uint64_t number;
	uint64_t until_ns; /* 0: no end */
	struct op_rule_key key;
	uint32_t depth; /* of its cgroup */
	uint32_t rate;	/* number, or 0 */
	uint64_t hash;
	struct op_rule *older;
};

struct op_rule_set {
	struct op_rule_set_config config;
	struct op_rule_rates rates;
	struct op_matches *matches;
	uint64_t seed;
	uint64_t last;		/* number that was given */
	struct op_map64 rules;	/* number -> struct op_rule */
	struct op_map64 by_key; /* hash -> the last one of that hash */
	size_t published;	/* entries of the kernel's map */
	uint32_t room;		/* of that */
	int fd;			/* of that, or -1 */
	uint64_t next_ns;	/* no rule's time ends before; 0: none's ever does */
	size_t kinds[OP_RULE_KINDS];
	size_t depths[OP_CGROUP_DEPTHS];
	size_t includes;
	bool changed; /* the table, and the programs do not know yet */
};

static inline struct op_rule *op_rule_of(uint64_t word)
{
	return (struct op_rule *)(uintptr_t)word;
}

/* The rule added last of those whose targets have this hash, or NULL. */
struct op_rule *op_rule_table_newest(const struct op_rule_set *t, uint64_t hash);
/* Bring what the rules of @like's target say to the kernel. Returns 0 or -errno. */
int op_rule_table_publish(struct op_rule_set *t, const struct op_rule *like);
/* Make room for one more target. Returns 0 or -errno. */
int op_rule_table_reserve(struct op_rule_set *t);
/* Tell the programs which kinds of rules there are, and that one has changed. */
void op_rule_table_publish_use(struct op_rule_set *t);
/* Of op_matches_config. */
int op_rule_table_publish_process(void *ctx, const struct op_rule_key *key,
				  const struct op_rule_decision *decision, bool fresh);
void op_rule_table_unpublish_process(void *ctx, const struct op_rule_key *key,
				     bool known);

static inline bool op_rule_same(const struct op_rule *a, const struct op_rule *b)
{
	return memcmp(&a->key, &b->key, sizeof(a->key)) == 0;
}

/* Does user space look for the processes that the rule means? */
static inline bool op_rule_is_of_programs(const struct op_rule *rule)
{
	return OP_RULE_KINDS_OF_PROGRAMS >> rule->key.kind & 1;
}

#endif
