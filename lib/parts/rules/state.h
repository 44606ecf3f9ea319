/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share: the rules (rule.c, rule_links.c, rule_set.c, waiting.c),
 * and the kernel's table of what they say (rule_table.c). */
#ifndef OP_PARTS_RULES_STATE_H
#define OP_PARTS_RULES_STATE_H

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "parts/rules/matches.h"
#include "parts/rules/rule_set.h"

/* Rules of the same target form a list, the highest rank first. */
struct op_rule {
	struct otelprof_rule of; /* its text is ours */
	uint64_t number;
	/* Its place among all. Those of op_rule_set_replace() come first, and behind them those that
	 * were added singly. */
	uint64_t rank;
	uint64_t until_ns; /* 0: no end */
	/* the kind is OP_RULE_KINDS while it waits for a control group */
	struct op_rule_key key;
	uint32_t depth; /* of its cgroup */
	char *group;	/* its path, where it was found last, or NULL */
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
	size_t published;	/* entries of the kernel's map, or due there */
	uint32_t room;		/* of that */
	int fd;			/* of that, or -1 */
	uint64_t next_ns;	/* no rule's time ends before; 0: none's ever does */
	/* Rules by what they are: */
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
	uint64_t look_ns; /* when to look for what rules wait for */
	size_t look_at;
	uint64_t follow_ns; /* when to look whether groups were made anew */
	size_t follow_at;
	bool changed; /* the table, and the programs do not know yet */
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
/* Set its key and the hash of that. Returns 0; -ENOENT for a cgroup that is not there; or
 * -errno. */
int op_rule_find_key(const struct op_rule_set *t, struct op_rule *rule);

/* Take it into the list of its target, and count it; and the opposite. Returns 0, -ENOSPC where there
 * are too many ages or globs, or -ENOMEM. */
int op_rule_link(struct op_rule_set *t, struct op_rule *rule);
void op_rule_unlink(struct op_rule_set *t, const struct op_rule *rule);
/* Put a rule in force that is linked. Returns 0 or -errno. */
int op_rule_enforce(struct op_rule_set *t, const struct op_rule *rule);
/* What rules wait for was looked for at @now_ns. */
void op_rule_look_later(struct op_rule_set *t, uint64_t now_ns);

/* The last rule of those whose targets have this hash, or NULL. */
struct op_rule *op_rule_table_newest(const struct op_rule_set *t, uint64_t hash);
/* Bring what the rules of @like's target say to the kernel. Returns 0 or -errno. */
int op_rule_table_publish(struct op_rule_set *t, const struct op_rule *like);
/* Allocate for all that is published. Returns 0 or -errno. */
int op_rule_table_reserve(struct op_rule_set *t);
/* Put all rules of @t in force with a table of their own, in place of those of @before.
 * Returns 0 or -errno; then nothing has changed. */
int op_rule_table_replace(struct op_rule_set *t, struct op_rule_set *before,
			  uint32_t clock_hz);
/* Then forget what only the rules of @before had. */
void op_rule_table_drop_texts(struct op_rule_set *t, const struct op_rule_set *before);
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

static inline bool op_rule_is_glob(const struct op_rule *rule)
{
	return rule->key.kind == OP_RULE_EXECUTABLE && strchr(rule->of.text, '*');
}

/* Is what it names not there yet? */
static inline bool op_rule_waits(const struct op_rule *rule)
{
	return rule->key.kind == OP_RULE_KINDS;
}

#endif
