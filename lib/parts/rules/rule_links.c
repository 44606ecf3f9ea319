/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of rules with the same target, and the number of rules of each kind. */
#include <errno.h>

#include "base/macros.h"
#include "parts/rules/state.h"

static bool is_only_one(const struct op_rule_set *t, const struct op_rule *rule)
{
	const struct op_rule *other;

	for (other = op_rule_table_newest(t, rule->hash); other; other = other->older)
		if (other != rule && op_rule_same(other, rule))
			return false;
	return true;
}

/* Insert the rule into the list of its target, by rank. Returns 0 or -ENOMEM. */
static int put_on_list(struct op_rule_set *t, struct op_rule *rule)
{
	struct op_rule *at = op_rule_table_newest(t, rule->hash);

	if (!at || at->rank < rule->rank) {
		rule->older = at;
		return op_map64_put(&t->by_key, rule->hash, op_rule_word(rule));
	}
	while (at->older && at->older->rank > rule->rank)
		at = at->older;
	rule->older = at->older;
	at->older = rule;
	return 0;
}

static void take_off_list(struct op_rule_set *t, const struct op_rule *rule)
{
	struct op_rule *at = op_rule_table_newest(t, rule->hash);

	if (at == rule && rule->older)
		/* replacing takes no memory */
		(void)op_map64_put(&t->by_key, rule->hash, op_rule_word(rule->older));
	else if (at == rule)
		(void)op_map64_remove(&t->by_key, rule->hash);
	for (; at && at != rule; at = at->older)
		if (at->older == rule)
			at->older = rule->older;
}

/* The index in t->ages of the age of @rule, or of a free slot. OP_AGES_MAX: none is
 * free. */
static size_t age_at(const struct op_rule_set *t, uint64_t ns)
{
	size_t found = OP_AGES_MAX;
	size_t i;

	for (i = 0; i < OP_AGES_MAX; i++) {
		if (t->ages[i].rules && t->ages[i].ns == ns)
			return i;
		if (!t->ages[i].rules)
			found = i;
	}
	return found;
}

/* Add @by (1 or -1) to the counts of rules like @rule, which is linked. */
static void count(struct op_rule_set *t, const struct op_rule *rule, int by)
{
	const bool only = is_only_one(t, rule);
	size_t age;

	t->kinds[rule->key.kind] += (size_t)by;
	if (rule->key.kind == OP_RULE_CGROUP)
		t->depths[rule->depth] += (size_t)by;
	if (rule->key.kind == OP_TARGET_TREE)
		t->trees[rule->key.word[0] % OP_ARRAY_SIZE(t->trees)] += (size_t)by;
	if (rule->key.kind == OP_TARGET_AGE) {
		age = age_at(t, rule->key.word[0]);
		t->ages[age].ns = rule->key.word[0];
		t->ages[age].rules += (size_t)by;
	}
	if (only && !op_rule_is_of_programs(rule))
		t->published += (size_t)by;
	if (only && op_rule_is_glob(rule))
		t->globs += (size_t)by;
}

int op_rule_link(struct op_rule_set *t, struct op_rule *rule)
{
	int r = put_on_list(t, rule);

	if (r == 0 && op_rule_is_glob(rule) && is_only_one(t, rule) &&
	    t->globs == OTELPROF_GLOBS_MAX)
		r = op_fail(t->config.log, -ENOSPC,
			    "rules have %d different paths with * already",
			    OTELPROF_GLOBS_MAX);
	else if (r == 0 && rule->key.kind == OP_TARGET_AGE &&
		 age_at(t, rule->key.word[0]) == OP_AGES_MAX)
		r = op_fail(t->config.log, -ENOSPC,
			    "rules have %d different ages already", OP_AGES_MAX);
	if (r < 0)
		take_off_list(t, rule);
	else
		count(t, rule, 1);
	return r;
}

void op_rule_unlink(struct op_rule_set *t, const struct op_rule *rule)
{
	count(t, rule, -1);
	take_off_list(t, rule);
}

int op_rule_enforce(struct op_rule_set *t, const struct op_rule *rule)
{
	int r = op_rule_table_reserve(t);

	if (r == 0)
		r = op_rule_table_publish(t, rule);
	if (r == 0)
		op_rule_table_publish_use(t);
	return r;
}
