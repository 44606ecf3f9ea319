/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that wait for a control group, and control groups that are made again. */
#include "base/allowance.h"
#include "base/macros.h"
#include "parts/rules/cgroup.h"
#include "parts/rules/state.h"

/* Interval of searches for the groups for which rules wait. */
static const uint64_t LOOK_NS = UINT64_C(5000000000);
/* Interval of checks whether groups were made again. */
static const uint64_t FOLLOW_NS = UINT64_C(400000000);

void op_rule_look_later(struct op_rule_set *t, uint64_t now_ns)
{
	t->look_ns = now_ns + LOOK_NS;
	t->follow_ns = now_ns + FOLLOW_NS;
}

/* Try to put a waiting rule in force. Returns false if it still waits. */
static bool settle(struct op_rule_set *t, struct op_rule *rule)
{
	struct op_rule_key key = rule->key;
	int r = op_rule_find_key(t, rule);

	if (r == 0)
		r = op_rule_link(t, rule);
	if (r < 0) {
		rule->key = key;
		return false;
	}
	t->waiting--;
	r = op_rule_enforce(t, rule);
	if (r == 0)
		op_log(t->config.log, OP_LOG_INFO,
		       "the rule that waited for %s applies now", rule->of.text);
	else
		op_log(t->config.log, OP_LOG_WARNING, "%s", t->config.log->message);
	return true;
}

/* The rule's control group is gone: the rule waits for the next one. */
static void lose_group(struct op_rule_set *t, struct op_rule *rule)
{
	op_rule_unlink(t, rule);
	(void)op_rule_table_publish(t, rule);
	rule->key.kind = OP_RULE_KINDS;
	t->waiting++;
	t->changed = true;
	op_log(t->config.log, OP_LOG_INFO,
	       "the control group of a rule is gone; the rule waits for the next %s",
	       rule->of.text);
}

/* Follow control groups: a unit or container that restarts has a new one at the same
 * path. */
static void follow(struct op_rule_set *t, uint64_t now_ns, struct op_allowance *allowance)
{
	size_t left = OP_RULE_SET_FOLLOW;
	uint64_t word;
	bool more;

	while ((more = op_map64_next(&t->rules, &t->follow_at, &word))) {
		struct op_rule *rule = op_rule_of(word);
		uint64_t id;

		if (!rule->group)
			continue;
		id = op_rule_cgroup_now(rule->group);
		if (!op_rule_waits(rule) && id != rule->key.word[0])
			lose_group(t, rule);
		if (id && op_rule_waits(rule))
			(void)settle(t, rule);
		if (!--left || op_allowance_is_over(allowance))
			break;
	}
	if (!more)
		t->follow_at = 0;
	t->follow_ns = now_ns + FOLLOW_NS;
}

/* Search for the groups for which rules wait. Finding a container reads many
 * directories. */
static void look(struct op_rule_set *t, uint64_t now_ns, struct op_allowance *allowance)
{
	size_t left = OP_RULE_SET_LOOK;
	uint64_t word;
	bool more;

	while ((more = op_map64_next(&t->rules, &t->look_at, &word))) {
		struct op_rule *rule = op_rule_of(word);

		if (!op_rule_waits(rule))
			continue;
		(void)settle(t, rule);
		if (!--left || op_allowance_is_over(allowance))
			break;
	}
	if (!more)
		t->look_at = 0;
	t->look_ns = now_ns + LOOK_NS;
}

static bool has_groups(const struct op_rule_set *t)
{
	return t->waiting || t->kinds[OP_RULE_CGROUP];
}

static void look_at_groups(struct op_rule_set *t, uint64_t now_ns,
			   struct op_allowance *allowance)
{
	struct op_log *log = t->config.log;
	struct op_log kept = *log;

	log->detail = NULL;
	if (now_ns >= t->follow_ns)
		follow(t, now_ns, allowance);
	if (t->waiting && now_ns >= t->look_ns)
		look(t, now_ns, allowance);
	/* the error of the last public call stays */
	op_log_deinit(log);
	*log = kept;
}

void op_rule_set_work(struct op_rule_set *t, uint64_t now_ns,
		      struct op_allowance *allowance)
{
	op_matches_work(t->matches, now_ns, allowance);
	if (has_groups(t))
		look_at_groups(t, now_ns, allowance);
	if (t->changed)
		op_rule_table_publish_use(t);
}

uint64_t op_rule_set_work_ns(const struct op_rule_set *t)
{
	uint64_t next_ns = op_matches_next_ns(t->matches);

	if (!has_groups(t) || (next_ns && next_ns < t->follow_ns))
		return next_ns;
	return t->follow_ns + 1;
}
