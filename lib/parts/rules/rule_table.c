/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF map of rules, keyed by target. */
#include <bpf/bpf.h>
#include <errno.h>

#include "base/io.h"
#include "base/macros.h"
#include "parts/rules/state.h"

struct op_rule *op_rule_table_newest(const struct op_rule_set *t, uint64_t hash)
{
	uint64_t word;

	return op_map64_get(&t->by_key, hash, &word) ? op_rule_of(word) : NULL;
}

static uint64_t verdict_of(const struct op_rule *rule)
{
	uint32_t verdict = rule->of.action == OTELPROF_RULE_EXCLUDE ? OP_VERDICT_DROP
								    : OP_VERDICT_KEEP;

	return rule->of.action == OTELPROF_RULE_RATE
		       ? 0
		       : rule->rank << OP_RULE_SHIFT | verdict;
}

/* Combine the decisions of all rules with the target of @like. False: there is none. */
static bool merge(const struct op_rule_set *t, const struct op_rule *like,
		  struct op_rule_decision *ret)
{
	const struct op_rule *rule = op_rule_table_newest(t, like->hash);
	bool any = false;

	*ret = (struct op_rule_decision){ 0 };
	for (; rule && !(ret->verdict && ret->rate); rule = rule->older) {
		if (!op_rule_same(rule, like))
			continue;
		any = true;
		if (!ret->verdict) {
			ret->verdict = verdict_of(rule);
			ret->keep_one_in = rule->of.keep_one_in;
		}
		if (!ret->rate && rule->rate)
			ret->rate = rule->rank << OP_RULE_SHIFT | rule->rate;
	}
	return any;
}

/* The same for rules by executable or environment, whose matching processes have the
 * entries. */
static int publish_program(struct op_rule_set *t, const struct op_rule *like)
{
	struct op_rule_decision decision;

	if (merge(t, like, &decision))
		return op_matches_set(t->matches, like->key.kind, like->of.text,
				      &decision);
	op_matches_unset(t->matches, like->key.kind, like->of.text);
	return 0;
}

static int publish_in(const struct op_rule_set *t, const struct op_rule *like, int fd)
{
	struct op_rule_decision decision;
	int r;

	if (merge(t, like, &decision))
		return bpf_map_update_elem(fd, &like->key, &decision, BPF_ANY);
	r = bpf_map_delete_elem(fd, &like->key);
	return r == -ENOENT ? 0 : r;
}

int op_rule_table_publish(struct op_rule_set *t, const struct op_rule *like)
{
	return op_rule_is_of_programs(like) ? publish_program(t, like)
					    : publish_in(t, like, t->fd);
}

static int copy_process(void *ctx, const struct op_rule_key *key,
			const struct op_rule_decision *decision)
{
	const int *fd = ctx;

	return bpf_map_update_elem(*fd, key, decision, BPF_ANY);
}

/* Call @fn for one rule of each target, until it fails. */
static int each_target(const struct op_rule_set *t,
		       int (*fn)(const struct op_rule_set *t, const struct op_rule *like,
				 void *ctx),
		       void *ctx)
{
	uint64_t word;
	size_t at = 0;
	int r = 0;

	while (r == 0 && op_map64_next(&t->by_key, &at, &word)) {
		const struct op_rule *before = NULL;
		const struct op_rule *rule = op_rule_of(word);

		for (; r == 0 && rule; before = rule, rule = rule->older)
			if (!before || !op_rule_same(before, rule))
				r = fn(t, rule, ctx);
	}
	return r;
}

static int copy_target(const struct op_rule_set *t, const struct op_rule *like, void *ctx)
{
	const int *fd = ctx;

	return op_rule_is_of_programs(like) ? 0 : publish_in(t, like, *fd);
}

/* Write all entries to the map @fd. */
static int publish_all(const struct op_rule_set *t, int fd)
{
	int r = each_target(t, copy_target, &fd);

	return r == 0 ? op_matches_each(t->matches, copy_process, &fd) : r;
}

static struct op_rule_use used_of(const struct op_rule_set *t)
{
	struct op_rule_use used = { .include = t->includes != 0,
				    .random = t->random != 0 };
	uint32_t i;

	for (i = 0; i < OP_RULE_KINDS; i++)
		used.kinds |= (uint32_t)(t->kinds[i] != 0) << i;
	for (i = 0; i < OP_CGROUP_DEPTHS; i++)
		used.cgroup_depths |= (uint32_t)(t->depths[i] != 0) << i;
	for (i = 0; i < OP_ARRAY_SIZE(t->trees); i++)
		used.trees |= (uint64_t)(t->trees[i] != 0) << i;
	for (i = 0; i < OP_AGES_MAX; i++)
		used.age_ns[i] = t->ages[i].rules ? t->ages[i].ns : 0;
	return used;
}

/* Replace the kernel's table by a new one for @room targets. */
static int switch_table(struct op_rule_set *t, uint32_t room,
			const uint64_t rate[OP_RATES_MAX])
{
	_cleanup_close_ int fd = op_capture_rule_map_new(t->config.capture, room);
	const struct op_rule_use used = used_of(t);
	int r = fd < 0 ? fd : publish_all(t, fd);

	if (r == 0)
		r = op_capture_rule_map_switch(t->config.capture, fd, &used, rate);
	if (r < 0)
		return r;
	op_closep(&t->fd);
	t->fd = OP_TAKE_FD(fd);
	t->room = room;
	return 0;
}

/* The size of the smallest table for @targets. */
static uint32_t room_for(size_t targets)
{
	if (targets <= OP_RULE_SET_FIRST)
		return OP_RULE_SET_FIRST;
	return targets <= OTELPROF_RULES_MAX ? OTELPROF_RULES_MAX : OP_RULE_SET_MAX;
}

int op_rule_table_reserve(struct op_rule_set *t)
{
	uint64_t rate[OP_RATES_MAX];

	if (t->room && t->published <= t->room)
		return 0;
	op_capture_get_rates(t->config.capture, rate);
	return switch_table(t, room_for(t->published), rate);
}

/* Set the decision of the rules with the text of @like to that of the list @ctx. */
static int say(const struct op_rule_set *t, const struct op_rule *like, void *ctx)
{
	const struct op_rule_set *list = ctx;
	struct op_rule_decision decision;

	if (!op_rule_is_of_programs(like))
		return 0;
	(void)merge(list, like, &decision);
	return op_matches_say(t->matches, like->key.kind, like->of.text, &decision);
}

/* Remove the text of @like, unless the list @ctx has it. */
static int forget(const struct op_rule_set *t, const struct op_rule *like, void *ctx)
{
	const struct op_rule_set *list = ctx;
	struct op_rule_decision decision;

	if (op_rule_is_of_programs(like) && !merge(list, like, &decision))
		op_matches_unset(t->matches, like->key.kind, like->of.text);
	return 0;
}

int op_rule_table_replace(struct op_rule_set *t, struct op_rule_set *before,
			  uint32_t clock_hz)
{
	uint64_t rate[OP_RATES_MAX];
	int r;

	op_rule_rates_words(&t->rates, clock_hz, rate);
	/* keep the entries of matching processes in the new table */
	(void)each_target(before, say, t);
	r = each_target(t, say, t);
	if (r == 0)
		r = switch_table(t, t->rules.len ? room_for(t->published) : 1, rate);
	if (r < 0) {
		(void)each_target(t, forget, before);
		(void)each_target(before, say, before);
	}
	return r;
}

void op_rule_table_drop_texts(struct op_rule_set *t, const struct op_rule_set *before)
{
	(void)each_target(before, forget, t);
}

void op_rule_table_publish_use(struct op_rule_set *t)
{
	const struct op_rule_use used = used_of(t);

	t->changed = false;
	op_capture_set_rule_use(t->config.capture, &used);
}

int op_rule_table_publish_process(void *ctx, const struct op_rule_key *key,
				  const struct op_rule_decision *decision, bool fresh)
{
	struct op_rule_set *t = ctx;
	int r;

	/* Count it also if it fails: unpublish() follows then. */
	t->published += fresh;
	t->changed = true;
	r = fresh ? op_rule_table_reserve(t) : 0;
	return r < 0 ? r : bpf_map_update_elem(t->fd, key, decision, BPF_ANY);
}

void op_rule_table_unpublish_process(void *ctx, const struct op_rule_key *key, bool known)
{
	struct op_rule_set *t = ctx;
	bool gone = t->fd >= 0 && bpf_map_delete_elem(t->fd, key) == 0;

	t->published -= known;
	t->changed |= known || gone;
}
