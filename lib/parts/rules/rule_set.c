/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/rules/rule_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/vec.h"
#include "parts/rules/state.h"

/* Pointers to rules, by rank. */
struct op_ranked {
	uint64_t *data;
	size_t len;
	size_t cap;
};

static void ranked_clear(struct op_ranked *sorted)
{
	op_vec_clear(sorted);
}

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

/* Free the rules and close their table. */
static void clear(struct op_rule_set *t)
{
	uint64_t word;
	size_t at = 0;

	while (op_map64_next(&t->rules, &at, &word))
		op_rule_free(op_rule_of(word));
	op_map64_clear(&t->rules);
	op_map64_clear(&t->by_key);
	op_closep(&t->fd);
}

struct op_rule_set *op_rule_set_free(struct op_rule_set *t)
{
	if (!t)
		return NULL;
	clear(t);
	(void)op_matches_free(t->matches);
	free(t);
	return NULL;
}

/* ---- rules ---- */

/* Insert a rule, whose text and rank are set, and take ownership on success. Leaves the
 * kernel's table alone. */
static int put_in(struct op_rule_set *t, struct op_rule *rule)
{
	int rate = 0;
	int r = op_map64_put(&t->rules, rule->number, op_rule_word(rule));

	if (r == 0 && rule->of.sample_rate_hz) {
		rate = op_rule_rates_take(&t->rates, rule->of.sample_rate_hz);
		if (rate < 0)
			r = op_fail(t->config.log, rate,
				    "rules have %d different rates already",
				    OP_RATES_MAX - 1);
	}
	rule->rate = (uint32_t)OP_MAX(rate, 0);
	if (r == 0 && !op_rule_waits(rule))
		r = op_rule_link(t, rule);
	if (r < 0) {
		if (rule->rate)
			op_rule_rates_put(&t->rates, rule->rate);
		(void)op_map64_remove(&t->rules, rule->number);
		return r;
	}
	t->waiting += op_rule_waits(rule);
	t->includes += rule->of.action == OTELPROF_RULE_INCLUDE;
	t->random += rule->of.keep_one_in > 1;
	if (rule->until_ns && (!t->next_ns || rule->until_ns < t->next_ns))
		t->next_ns = rule->until_ns;
	return 0;
}

/* Remove a rule. Leaves the kernel's table alone. */
static void take_out(struct op_rule_set *t, const struct op_rule *rule)
{
	if (!op_rule_waits(rule)) {
		op_rule_unlink(t, rule);
	}
	(void)op_map64_remove(&t->rules, rule->number);
	t->waiting -= op_rule_waits(rule);
	t->includes -= rule->of.action == OTELPROF_RULE_INCLUDE;
	t->random -= rule->of.keep_one_in > 1;
	if (rule->rate)
		op_rule_rates_put(&t->rates, rule->rate);
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

static void set_end(struct op_rule *rule, uint64_t now_ns)
{
	if (rule->of.duration_ns &&
	    __builtin_add_overflow(now_ns, rule->of.duration_ns, &rule->until_ns))
		rule->until_ns = 0;
}

int op_rule_set_add(struct op_rule_set *t, const struct otelprof_rule *from,
		    uint64_t now_ns, uint64_t *ret)
{
	_cleanup_(op_rule_freep) struct op_rule *rule = NULL;
	int r;

	if (t->rules.len >= OTELPROF_RULES_MAX)
		return op_fail(t->config.log, -ENOSPC, "there are %d rules already",
			       OTELPROF_RULES_MAX);
	r = op_rule_new(from, &rule);
	if (r == 0)
		r = op_rule_find_key(t, rule);
	if (r < 0)
		return r;
	set_end(rule, now_ns);
	rule->number = ++t->last;
	rule->rank = OTELPROF_RULES_MAX + rule->number;
	r = put_in(t, rule);
	if (r < 0)
		return r;
	r = op_rule_enforce(t, rule);
	if (r < 0) {
		take_out(t, rule);
		return r;
	}
	*ret = rule->number;
	rule = NULL;
	return 0;
}

int op_rule_set_remove(struct op_rule_set *t, uint64_t number)
{
	_cleanup_(op_rule_freep) struct op_rule *rule = NULL;
	uint64_t word;
	int r;

	if (!op_map64_get(&t->rules, number, &word))
		return -ENOENT;
	rule = op_rule_of(word);
	take_out(t, rule);
	/* replacing and deleting take no space */
	r = op_rule_waits(rule) ? 0 : op_rule_table_publish(t, rule);
	op_rule_table_publish_use(t);
	return r;
}

/* ---- a list at once ---- */

static int by_rank(const void *a, const void *b)
{
	const struct op_rule *x = op_rule_of(*(const uint64_t *)a);
	const struct op_rule *y = op_rule_of(*(const uint64_t *)b);

	return (x->rank > y->rank) - (x->rank < y->rank);
}

static int sort(const struct op_rule_set *t, struct op_ranked *ret)
{
	uint64_t word;
	size_t at = 0;

	if (op_vec_reserve(ret, t->rules.len))
		return -ENOMEM;
	while (op_map64_next(&t->rules, &at, &word))
		ret->data[ret->len++] = word;
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(ret->data[0]), by_rank);
	return 0;
}

/* Did a rule with the same target wait before? */
static bool waited(const struct op_rule_set *t, const struct op_rule *rule)
{
	uint64_t word;
	size_t at = 0;

	while (t->waiting && op_map64_next(&t->rules, &at, &word)) {
		const struct op_rule *other = op_rule_of(word);

		if (op_rule_waits(other) && other->of.kind == rule->of.kind &&
		    strcmp(other->of.text, rule->of.text) == 0)
			return true;
	}
	return false;
}

static int put_in_copy(struct op_rule_set *t, const struct op_rule_set *before,
		       const struct otelprof_rule *from, uint64_t rank, uint64_t now_ns)
{
	_cleanup_(op_rule_freep) struct op_rule *rule = NULL;
	int r = op_rule_new(from, &rule);

	if (r == 0)
		r = op_rule_find_key(t, rule);
	if (r == -ENOENT) {
		rule->key.kind = OP_RULE_KINDS;
		if (!waited(before, rule))
			op_log(t->config.log, OP_LOG_WARNING,
			       "a rule waits for its control group, container or pod: %s",
			       t->config.log->message);
		r = 0;
	}
	if (r < 0)
		return r;
	set_end(rule, now_ns);
	rule->number = ++t->last;
	rule->rank = rank;
	r = put_in(t, rule);
	if (r == 0)
		rule = NULL;
	return r;
}

/* Copy the rules that op_rule_set_add() added to @before. */
static int put_in_added(struct op_rule_set *t, const struct op_rule_set *before)
{
	_cleanup_(ranked_clear) struct op_ranked all = { 0 };
	const uint64_t *word;
	int r = sort(before, &all);

	op_vec_foreach(word, &all) {
		_cleanup_(op_rule_freep) struct op_rule *rule = NULL;
		const struct op_rule *from = op_rule_of(*word);
		const char *text;

		if (r < 0 || from->rank <= OTELPROF_RULES_MAX)
			continue;
		r = op_rule_new(&from->of, &rule);
		if (r < 0)
			continue;
		text = rule->of.text;
		*rule = *from;
		rule->of.text = text;
		rule->group = from->group ? strdup(from->group) : NULL;
		r = from->group && !rule->group ? -ENOMEM : put_in(t, rule);
		if (r == 0)
			rule = NULL;
	}
	return r;
}

int op_rule_set_replace(struct op_rule_set *t, const struct otelprof_rule *rules,
			size_t len, uint64_t now_ns, uint32_t clock_hz)
{
	struct op_rule_set before;
	struct op_rule_set next = { .config = t->config,
				    .matches = t->matches,
				    .seed = t->seed,
				    .last = t->last,
				    .fd = -1 };
	size_t i;
	int r = 0;

	op_rule_look_later(&next, now_ns);
	op_rule_rates_init(&next.rates, t->rates.hz[0]);
	for (i = 0; r == 0 && i < len; i++)
		r = put_in_copy(&next, t, &rules[i], i + 1, now_ns);
	if (r == 0)
		r = put_in_added(&next, t);
	if (r == 0 && next.rules.len > OTELPROF_RULES_MAX)
		r = op_fail(
			t->config.log, -ENOSPC,
			"there are %zu rules, with those that were added; at most %d are taken",
			next.rules.len, OTELPROF_RULES_MAX);
	next.published += op_matches_len(t->matches);
	if (r == 0)
		r = op_rule_table_replace(&next, t, clock_hz);
	if (r < 0) {
		clear(&next);
		return r;
	}
	before = *t;
	*t = next;
	op_rule_table_drop_texts(t, &before);
	clear(&before);
	return 0;
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

int op_rule_set_each(const struct op_rule_set *t, uint64_t now_ns, op_rule_set_fn fn,
		     void *ctx)
{
	_cleanup_(ranked_clear) struct op_ranked all = { 0 };
	const uint64_t *word;
	int r = sort(t, &all);

	op_vec_foreach(word, &all) {
		const struct op_rule *rule = op_rule_of(*word);
		struct otelprof_rule copy = rule->of;

		if (rule->until_ns)
			copy.duration_ns =
				rule->until_ns > now_ns ? rule->until_ns - now_ns : 1;
		fn(ctx, rule->number, &copy);
	}
	return r;
}
