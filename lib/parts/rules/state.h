/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this folder: the rules (rule.c, rule_links.c, rule_set.c,
 * waiting.c), and the kernel's table of their decisions (rule_table.c). */
#ifndef OP_PARTS_RULES_STATE_H
#define OP_PARTS_RULES_STATE_H

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "parts/rules/matches.h"
#include "parts/rules/rule_set.h"

/* A rule. Those with the same target form a list, the highest rank first. */
struct op_rule {
	struct otelprof_rule of; /* the text is owned */
	uint64_t number;
	/* Its position among all rules. Those of op_rule_set_replace() come first, then
	 * those of op_rule_set_add(). */
	uint64_t rank;
	uint64_t until_ns; /* 0: no end */
	/* while the rule waits for a control group, key.kind is OP_RULE_KINDS */
	struct op_rule_key key;
	uint32_t depth; /* of its cgroup */
	char *group;	/* path of its cgroup, if it was found once, or NULL */
	uint32_t rate;	/* number of its rate, or 0 */
	uint64_t hash;
	struct op_rule *older;
};

struct op_rule_set {
	struct op_rule_set_config config;
	struct op_rule_rates rates;
	struct op_matches *matches;
	uint64_t seed;
	uint64_t last;		/* last number that was given to a rule */
	struct op_map64 rules;	/* number -> struct op_rule */
	struct op_map64 by_key; /* hash -> the newest rule with that hash */
	size_t published;	/* entries in the kernel's map, or about to be written */
	uint32_t room;		/* capacity of that map */
	int fd;			/* descriptor of that map, or -1 */
	uint64_t next_ns;	/* no rule expires before; 0: none expires */
	/* Number of rules, by kind and other properties: */
	size_t kinds[OP_RULE_KINDS];
	size_t depths[OP_CGROUP_DEPTHS];
	size_t trees[64];
	struct {
		uint64_t ns;
		size_t rules; /* 0: free */
	} ages[OP_AGES_MAX];
	size_t globs; /* different ones */
	size_t includes;
	size_t random;
	size_t waiting;
	uint64_t look_ns; /* when to search for the groups for which rules wait */
	size_t look_at;
	uint64_t follow_ns; /* when to check if groups were made again */
	size_t follow_at;
	bool changed; /* the table has changed, and the programs do not know yet */
};

static inline struct op_rule *op_rule_of(uint64_t word)
{
	return (struct op_rule *)(uintptr_t)word;
}

static inline uint64_t op_rule_word(const struct op_rule *rule)
{
	return (uint64_t)(uintptr_t)rule;
}

/* Copy @from with its text. Returns 0 or -ENOMEM. */
int op_rule_new(const struct otelprof_rule *from, struct op_rule **ret);
struct op_rule *op_rule_free(struct op_rule *rule);
OP_DEFINE_CLEANUP(struct op_rule *, op_rule_free)
/* Set the key of a rule and its hash. Returns 0; -ENOENT for a cgroup that does not
 * exist; or -errno. */
int op_rule_find_key(const struct op_rule_set *t, struct op_rule *rule);

/* Add a rule to the list of its target, and count it; or remove it. Returns 0, -ENOSPC
 * for too many ages or globs, or -ENOMEM. */
int op_rule_link(struct op_rule_set *t, struct op_rule *rule);
void op_rule_unlink(struct op_rule_set *t, const struct op_rule *rule);
/* Publish a linked rule. Returns 0 or -errno. */
int op_rule_enforce(struct op_rule_set *t, const struct op_rule *rule);
/* Schedule the next search, after one at @now_ns. */
void op_rule_look_later(struct op_rule_set *t, uint64_t now_ns);

/* The newest rule whose target has this hash, or NULL. */
struct op_rule *op_rule_table_newest(const struct op_rule_set *t, uint64_t hash);
/* Write the decision for the target of @like to the kernel's table. Returns 0 or
 * -errno. */
int op_rule_table_publish(struct op_rule_set *t, const struct op_rule *like);
/* Grow the kernel's table for all that is published. Returns 0 or -errno. */
int op_rule_table_reserve(struct op_rule_set *t);
/* Replace the rules of @before by those of @t, with a table of their own. Returns 0, or
 * -errno if nothing has changed. */
int op_rule_table_replace(struct op_rule_set *t, struct op_rule_set *before,
			  uint32_t clock_hz);
/* After that, forget texts that only rules of @before have. */
void op_rule_table_drop_texts(struct op_rule_set *t, const struct op_rule_set *before);
/* Publish which kinds of rules there are, so that the programs see the change. */
void op_rule_table_publish_use(struct op_rule_set *t);
/* Callbacks of op_matches_config. */
int op_rule_table_publish_process(void *ctx, const struct op_rule_key *key,
				  const struct op_rule_decision *decision, bool fresh);
void op_rule_table_unpublish_process(void *ctx, const struct op_rule_key *key,
				     bool known);

static inline bool op_rule_same(const struct op_rule *a, const struct op_rule *b)
{
	return memcmp(&a->key, &b->key, sizeof(a->key)) == 0;
}

/* Does user space evaluate the rule? */
static inline bool op_rule_is_of_programs(const struct op_rule *rule)
{
	return OP_RULE_KINDS_OF_PROGRAMS >> rule->key.kind & 1;
}

static inline bool op_rule_is_glob(const struct op_rule *rule)
{
	return rule->key.kind == OP_RULE_EXECUTABLE && strchr(rule->of.text, '*');
}

/* Does the control group of the rule not exist yet? */
static inline bool op_rule_waits(const struct op_rule *rule)
{
	return rule->key.kind == OP_RULE_KINDS;
}

#endif
