/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/rules/rule_set.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/vec.h"
#include "parts/rules/state.h"

static uint64_t word_of(const struct op_rule *rule)
{
	return (uint64_t)(uintptr_t)rule;
}

static struct op_rule *rule_free(struct op_rule *rule)
{
	if (rule)
		free((void *)rule->of.text);
	free(rule);
	return NULL;
}
OP_DEFINE_CLEANUP(struct op_rule *, rule_free)

int op_rule_set_new(const struct op_rule_set_config *config, struct op_rule_set **ret)
{
	_cleanup_(op_rule_set_freep) struct op_rule_set *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->config = *config;
	t->fd = -1;
	t->seed = op_hash_seed();
	op_rule_rates_init(&t->rates, config->sample_rate_hz);
	r = op_matches_new(
		&(struct op_matches_config){ .target = config->target,
					     .procfs_root = config->procfs_root,
					     .publish = op_rule_table_publish_process,
					     .unpublish = op_rule_table_unpublish_process,
					     .ctx = t },
		&t->matches);
	if (r == 0)
		*ret = OP_TAKE_PTR(t);
	return r;
}

struct op_rule_set *op_rule_set_free(struct op_rule_set *t)
{
	uint64_t word;
	size_t at = 0;

	if (!t)
		return NULL;
	while (op_map64_next(&t->rules, &at, &word))
		rule_free(op_rule_of(word));
	op_map64_clear(&t->rules);
	op_map64_clear(&t->by_key);
	(void)op_matches_free(t->matches);
	op_closep(&t->fd);
	free(t);
	return NULL;
}

/* ---- rules ---- */

static bool is_only_one(const struct op_rule_set *t, const struct op_rule *rule)
{
	const struct op_rule *other;

	for (other = op_rule_table_newest(t, rule->hash); other; other = other->older)
		if (other != rule && op_rule_same(other, rule))
			return false;
	return true;
}

/* The text of any length is known by 128 bits of hashes. */
static void set_text_key(const struct op_rule_set *t, struct op_rule *rule, uint32_t kind)
{
	size_t len = strlen(rule->of.text);

	rule->key.kind = kind;
	rule->key.word[0] = op_hash_bytes(rule->of.text, len, t->seed);
	rule->key.word[1] = op_hash_bytes(rule->of.text, len, ~t->seed);
}

static int set_key(struct op_rule_set *t, struct op_rule *rule)
{
	char *comm = (char *)rule->key.word;
	uint64_t cgroup;
	int r;

	rule->key.word[0] = rule->of.number;
	switch (rule->of.kind) {
	case OTELPROF_FILTER_PID:
		rule->key.kind = OP_RULE_PID;
		return 0;
	case OTELPROF_FILTER_UID:
		rule->key.kind = OP_RULE_UID;
		return 0;
	case OTELPROF_FILTER_COMM:
		rule->key.kind = OP_RULE_COMM;
		memset(rule->key.word, 0, sizeof(rule->key.word));
		memcpy(comm, rule->of.text,
		       OP_MIN(strlen(rule->of.text), sizeof(rule->key.word) - 1));
		return 0;
	case OTELPROF_FILTER_EXECUTABLE:
		set_text_key(t, rule, OP_RULE_EXECUTABLE);
		return 0;
	case OTELPROF_FILTER_ENVIRONMENT:
		set_text_key(t, rule, OP_RULE_ENVIRONMENT);
		return 0;
	default:
		rule->key.kind = OP_RULE_CGROUP;
		r = op_capture_cgroup(t->config.capture, rule->of.kind, rule->of.text,
				      &cgroup, &rule->depth);
		if (r == 0)
			rule->key.word[0] = cgroup;
		return r;
	}
}

static int make_rule(struct op_rule_set *t, const struct otelprof_rule *from,
		     uint64_t now_ns, struct op_rule **ret)
{
	_cleanup_(rule_freep) struct op_rule *rule = calloc(1, sizeof(*rule));
	int r;

	if (!rule)
		return -ENOMEM;
	rule->of = *from;
	rule->of.text = from->text ? strdup(from->text) : NULL;
	if (from->text && !rule->of.text)
		return -ENOMEM;
	if (from->duration_ns &&
	    __builtin_add_overflow(now_ns, from->duration_ns, &rule->until_ns))
		rule->until_ns = 0;
	r = set_key(t, rule);
	if (r < 0)
		return r;
	if (rule->depth >= OP_CGROUP_DEPTHS)
		return op_fail(t->config.log, -E2BIG,
			       "the cgroup %s stands deeper than %d levels", from->text,
			       OP_CGROUP_DEPTHS - 1);
	rule->hash = op_hash_bytes(&rule->key, sizeof(rule->key), t->seed);
	*ret = OP_TAKE_PTR(rule);
	return 0;
}

/* Put it at the head of its list; 0 or -ENOMEM. */
static int link_rule(struct op_rule_set *t, struct op_rule *rule)
{
	int r;

	rule->older = op_rule_table_newest(t, rule->hash);
	r = op_map64_put(&t->rules, rule->number, word_of(rule));
	if (r < 0)
		return r;
	r = op_map64_put(&t->by_key, rule->hash, word_of(rule));
	if (r < 0)
		(void)op_map64_remove(&t->rules, rule->number);
	return r;
}

static void unlink_rule(struct op_rule_set *t, const struct op_rule *rule)
{
	struct op_rule *at = op_rule_table_newest(t, rule->hash);

	(void)op_map64_remove(&t->rules, rule->number);
	if (at == rule && rule->older)
		/* replaces: needs no memory */
		(void)op_map64_put(&t->by_key, rule->hash, word_of(rule->older));
	else if (at == rule)
		(void)op_map64_remove(&t->by_key, rule->hash);
	for (; at && at != rule; at = at->older)
		if (at->older == rule)
			at->older = rule->older;
}

/* Count @by (1 or -1) more rules like @rule. */
static void count(struct op_rule_set *t, const struct op_rule *rule, int by)
{
	t->kinds[rule->key.kind] += (size_t)by;
	if (rule->key.kind == OP_RULE_CGROUP)
		t->depths[rule->depth] += (size_t)by;
	if (rule->of.action == OTELPROF_FILTER_INCLUDE)
		t->includes += (size_t)by;
}

static void find_next(struct op_rule_set *t)
{
	uint64_t word;
	size_t at = 0;

	t->next_ns = 0;
	while (op_map64_next(&t->rules, &at, &word)) {
		uint64_t until_ns = op_rule_of(word)->until_ns;

		if (until_ns && (!t->next_ns || until_ns < t->next_ns))
			t->next_ns = until_ns;
	}
}

/* The rule has all but its place. On failure nothing has changed. */
static int enforce(struct op_rule_set *t, struct op_rule *rule)
{
	bool fresh;
	int r = link_rule(t, rule);

	if (r < 0)
		return r;
	fresh = !op_rule_is_of_programs(rule) && is_only_one(t, rule);
	/* rules of programs want it for the first process that they mean */
	if (fresh || t->fd < 0)
		r = op_rule_table_reserve(t);
	if (r == 0)
		r = op_rule_table_publish(t, rule);
	if (r < 0) {
		unlink_rule(t, rule);
		return r;
	}
	t->published += fresh;
	count(t, rule, 1);
	if (rule->until_ns && (!t->next_ns || rule->until_ns < t->next_ns))
		t->next_ns = rule->until_ns;
	op_rule_table_publish_use(t);
	return 0;
}

int op_rule_set_add(struct op_rule_set *t, const struct otelprof_rule *from,
		    uint64_t now_ns, uint64_t *ret)
{
	_cleanup_(rule_freep) struct op_rule *rule = NULL;
	int rate = 0;
	int r;

	if (t->rules.len >= OTELPROF_RULES_MAX)
		return op_fail(t->config.log, -ENOSPC, "there are %d rules already",
			       OTELPROF_RULES_MAX);
	r = make_rule(t, from, now_ns, &rule);
	if (r < 0)
		return r;
	if (from->sample_rate_hz) {
		rate = op_rule_rates_take(&t->rates, from->sample_rate_hz);
		if (rate < 0)
			return op_fail(t->config.log, rate,
				       "rules have %d different rates already",
				       OP_RATES_MAX - 1);
	}
	rule->rate = (uint32_t)rate;
	rule->number = ++t->last;
	r = enforce(t, rule);
	if (r < 0) {
		if (rate)
			op_rule_rates_put(&t->rates, (uint32_t)rate);
		return r == -ENOSPC ? op_fail(t->config.log, r,
					      "rules have %d different paths with * "
					      "already",
					      OTELPROF_GLOBS_MAX)
				    : r;
	}
	*ret = rule->number;
	rule = NULL;
	return 0;
}

int op_rule_set_remove(struct op_rule_set *t, uint64_t number)
{
	_cleanup_(rule_freep) struct op_rule *rule = NULL;
	uint64_t word;
	int r;

	if (!op_map64_get(&t->rules, number, &word))
		return -ENOENT;
	rule = op_rule_of(word);
	count(t, rule, -1);
	t->published -= !op_rule_is_of_programs(rule) && is_only_one(t, rule);
	unlink_rule(t, rule);
	if (rule->rate)
		op_rule_rates_put(&t->rates, rule->rate);
	/* replacing and deleting need no room */
	r = op_rule_table_publish(t, rule);
	op_rule_table_publish_use(t);
	return r;
}

size_t op_rule_set_expire(struct op_rule_set *t, uint64_t now_ns)
{
	uint64_t over[OP_RULE_SET_EXPIRE];
	uint64_t word;
	size_t len = 0;
	size_t at = 0;
	size_t i;

	if (!t->next_ns || t->next_ns > now_ns)
		return 0;
	while (len < OP_RULE_SET_EXPIRE && op_map64_next(&t->rules, &at, &word)) {
		const struct op_rule *rule = op_rule_of(word);

		if (rule->until_ns && rule->until_ns <= now_ns)
			over[len++] = rule->number;
	}
	for (i = 0; i < len; i++)
		(void)op_rule_set_remove(t, over[i]);
	find_next(t);
	return len;
}

uint64_t op_rule_set_next_ns(const struct op_rule_set *t)
{
	return t->next_ns;
}

void op_rule_set_on_fork(void *ctx, uint32_t pid, uint32_t parent)
{
	struct op_rule_set *t = ctx;

	op_matches_on_fork(t->matches, pid, parent);
}

void op_rule_set_on_exec(void *ctx, uint32_t pid)
{
	struct op_rule_set *t = ctx;

	op_matches_on_exec(t->matches, pid);
}

void op_rule_set_on_exit(void *ctx, uint32_t pid)
{
	struct op_rule_set *t = ctx;

	op_matches_on_exit(t->matches, pid);
}

void op_rule_set_on_lost(void *ctx)
{
	struct op_rule_set *t = ctx;

	op_matches_on_lost(t->matches);
}

void op_rule_set_work(struct op_rule_set *t, uint64_t now_ns, uint64_t limit_ns)
{
	op_matches_work(t->matches, now_ns, limit_ns);
	if (t->changed)
		op_rule_table_publish_use(t);
}

uint64_t op_rule_set_work_ns(const struct op_rule_set *t)
{
	return op_matches_next_ns(t->matches);
}

void op_rule_set_get_stats(const struct op_rule_set *t, struct op_match_stats *ret)
{
	op_matches_get_stats(t->matches, ret);
}

size_t op_rule_set_len(const struct op_rule_set *t)
{
	return t->rules.len;
}

struct op_rule_rates *op_rule_set_rates(struct op_rule_set *t)
{
	return &t->rates;
}

static int by_number(const void *a, const void *b)
{
	const struct op_rule *x = op_rule_of(*(const uint64_t *)a);
	const struct op_rule *y = op_rule_of(*(const uint64_t *)b);

	return (x->number > y->number) - (x->number < y->number);
}

int op_rule_set_each(const struct op_rule_set *t, uint64_t now_ns, op_rule_set_fn fn,
		     void *ctx)
{
	OP_VEC(uint64_t) all = { 0 };
	uint64_t *word;
	uint64_t next;
	size_t at = 0;

	if (op_vec_reserve(&all, t->rules.len))
		return -ENOMEM;
	while (op_map64_next(&t->rules, &at, &next))
		all.data[all.len++] = next;
	if (all.len)
		qsort(all.data, all.len, sizeof(all.data[0]), by_number);
	op_vec_foreach(word, &all) {
		const struct op_rule *rule = op_rule_of(*word);
		struct otelprof_rule copy = rule->of;

		if (rule->until_ns)
			copy.duration_ns =
				rule->until_ns > now_ns ? rule->until_ns - now_ns : 1;
		fn(ctx, rule->number, &copy);
	}
	op_vec_clear(&all);
	return 0;
}
