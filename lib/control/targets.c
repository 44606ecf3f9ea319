/* SPDX-License-Identifier: Apache-2.0 */
#include "control/targets.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/vec.h"

/* Rules of the same target stand in a list, the one added last first. */
struct rule {
	struct otelprof_rule of; /* its text is ours */
	uint64_t number;
	uint64_t until_ns; /* 0: no end */
	struct op_target_key key;
	uint32_t depth; /* of its cgroup */
	uint32_t rate;	/* number, or 0 */
	uint64_t hash;
	struct rule *older;
};

struct op_targets {
	struct op_targets_config config;
	struct op_rates rates;
	uint64_t seed;
	uint64_t last;		/* number that was given */
	struct op_map64 rules;	/* number -> struct rule */
	struct op_map64 by_key; /* hash -> the last one of that hash */
	size_t published;	/* entries of the kernel's map */
	uint32_t room;		/* of that */
	int fd;			/* of that, or -1 */
	uint64_t next_ns;	/* no rule's time ends before; 0: none's ever does */
	size_t kinds[OP_TARGET_KINDS];
	size_t depths[OP_CGROUP_DEPTHS];
	size_t includes;
};

static struct rule *rule_of(uint64_t word)
{
	return (struct rule *)(uintptr_t)word;
}

static uint64_t word_of(const struct rule *rule)
{
	return (uint64_t)(uintptr_t)rule;
}

static struct rule *rule_free(struct rule *rule)
{
	if (rule)
		free((void *)rule->of.text);
	free(rule);
	return NULL;
}
OP_DEFINE_CLEANUP(struct rule *, rule_free)

int op_targets_new(const struct op_targets_config *config, struct op_targets **ret)
{
	struct op_targets *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->config = *config;
	t->fd = -1;
	t->seed = op_hash_seed();
	op_rates_init(&t->rates, config->sample_rate_hz);
	*ret = t;
	return 0;
}

struct op_targets *op_targets_free(struct op_targets *t)
{
	uint64_t word;
	size_t at = 0;

	if (!t)
		return NULL;
	while (op_map64_next(&t->rules, &at, &word))
		rule_free(rule_of(word));
	op_map64_clear(&t->rules);
	op_map64_clear(&t->by_key);
	op_closep(&t->fd);
	free(t);
	return NULL;
}

/* ---- what the kernel has ---- */

static bool same_target(const struct rule *a, const struct rule *b)
{
	return memcmp(&a->key, &b->key, sizeof(a->key)) == 0;
}

static struct rule *newest(const struct op_targets *t, uint64_t hash)
{
	uint64_t word;

	return op_map64_get(&t->by_key, hash, &word) ? rule_of(word) : NULL;
}

static uint64_t verdict_of(const struct rule *rule)
{
	uint32_t verdict = rule->of.action == OTELPROF_FILTER_EXCLUDE ? OP_VERDICT_DROP
								      : OP_VERDICT_KEEP;

	return rule->of.action == OTELPROF_RULE_RATE
		       ? 0
		       : rule->number << OP_TARGET_SHIFT | verdict;
}

/* What the rules of @like's target say together; false where there is none. */
static bool merge(const struct op_targets *t, const struct rule *like,
		  struct op_target_says *ret)
{
	const struct rule *rule = newest(t, like->hash);
	bool any = false;

	*ret = (struct op_target_says){ 0 };
	for (; rule && !(ret->verdict && ret->rate); rule = rule->older) {
		if (!same_target(rule, like))
			continue;
		any = true;
		if (!ret->verdict)
			ret->verdict = verdict_of(rule);
		if (!ret->rate && rule->rate)
			ret->rate = rule->number << OP_TARGET_SHIFT | rule->rate;
	}
	return any;
}

/* Bring what the rules of @like's target say to the map @fd. */
static int publish(const struct op_targets *t, const struct rule *like, int fd)
{
	struct op_target_says target;
	int r;

	if (merge(t, like, &target))
		return bpf_map_update_elem(fd, &like->key, &target, BPF_ANY);
	r = bpf_map_delete_elem(fd, &like->key);
	return r == -ENOENT ? 0 : r;
}

/* A table for @room targets in place of the one there is. */
static int grow(struct op_targets *t, uint32_t room)
{
	_cleanup_close_ int fd = op_capture_targets_make(t->config.capture, room);
	uint64_t word;
	size_t at = 0;
	int r = fd < 0 ? fd : 0;

	while (r == 0 && op_map64_next(&t->by_key, &at, &word)) {
		const struct rule *newer = NULL;
		const struct rule *rule = rule_of(word);

		/* those of one target are published together */
		for (; r == 0 && rule; newer = rule, rule = rule->older)
			if (!newer || !same_target(newer, rule))
				r = publish(t, rule, fd);
	}
	if (r == 0)
		r = op_capture_targets_use(t->config.capture, fd);
	if (r < 0)
		return r;
	op_closep(&t->fd);
	t->fd = OP_TAKE_FD(fd);
	t->room = room;
	return 0;
}

static int make_room(struct op_targets *t)
{
	if (t->published < t->room)
		return 0;
	return grow(t, t->room ? OTELPROF_RULES_MAX : OP_TARGETS_FIRST);
}

static void tell_used(const struct op_targets *t)
{
	struct op_targets_used used = { .include = t->includes != 0 };
	uint32_t i;

	for (i = 0; i < OP_TARGET_KINDS; i++)
		used.kinds |= (uint32_t)(t->kinds[i] != 0) << i;
	for (i = 0; i < OP_CGROUP_DEPTHS; i++)
		used.cgroup_depths |= (uint32_t)(t->depths[i] != 0) << i;
	op_capture_targets_used(t->config.capture, &used);
}

/* ---- rules ---- */

static bool is_only_one(const struct op_targets *t, const struct rule *rule)
{
	const struct rule *other;

	for (other = newest(t, rule->hash); other; other = other->older)
		if (other != rule && same_target(other, rule))
			return false;
	return true;
}

static int set_key(struct op_targets *t, struct rule *rule)
{
	char *comm = (char *)rule->key.word;
	uint64_t cgroup;
	int r;

	rule->key.word[0] = rule->of.number;
	switch (rule->of.kind) {
	case OTELPROF_FILTER_PID:
		rule->key.kind = OP_TARGET_PID;
		return 0;
	case OTELPROF_FILTER_UID:
		rule->key.kind = OP_TARGET_UID;
		return 0;
	case OTELPROF_FILTER_COMM:
		rule->key.kind = OP_TARGET_COMM;
		memset(rule->key.word, 0, sizeof(rule->key.word));
		memcpy(comm, rule->of.text,
		       OP_MIN(strlen(rule->of.text), sizeof(rule->key.word) - 1));
		return 0;
	default:
		rule->key.kind = OP_TARGET_CGROUP;
		r = op_capture_cgroup(t->config.capture, rule->of.kind, rule->of.text,
				      &cgroup, &rule->depth);
		if (r == 0)
			rule->key.word[0] = cgroup;
		return r;
	}
}

static int make_rule(struct op_targets *t, const struct otelprof_rule *from,
		     uint64_t now_ns, struct rule **ret)
{
	_cleanup_(rule_freep) struct rule *rule = calloc(1, sizeof(*rule));
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
static int link_rule(struct op_targets *t, struct rule *rule)
{
	int r;

	rule->older = newest(t, rule->hash);
	r = op_map64_put(&t->rules, rule->number, word_of(rule));
	if (r < 0)
		return r;
	r = op_map64_put(&t->by_key, rule->hash, word_of(rule));
	if (r < 0)
		(void)op_map64_remove(&t->rules, rule->number);
	return r;
}

static void unlink_rule(struct op_targets *t, const struct rule *rule)
{
	struct rule *at = newest(t, rule->hash);

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
static void count(struct op_targets *t, const struct rule *rule, int by)
{
	t->kinds[rule->key.kind] += (size_t)by;
	if (rule->key.kind == OP_TARGET_CGROUP)
		t->depths[rule->depth] += (size_t)by;
	if (rule->of.action == OTELPROF_FILTER_INCLUDE)
		t->includes += (size_t)by;
}

static void find_next(struct op_targets *t)
{
	uint64_t word;
	size_t at = 0;

	t->next_ns = 0;
	while (op_map64_next(&t->rules, &at, &word)) {
		uint64_t until_ns = rule_of(word)->until_ns;

		if (until_ns && (!t->next_ns || until_ns < t->next_ns))
			t->next_ns = until_ns;
	}
}

/* The rule has all but its place. On failure nothing has changed. */
static int enforce(struct op_targets *t, struct rule *rule)
{
	bool fresh;
	int r = link_rule(t, rule);

	if (r < 0)
		return r;
	fresh = is_only_one(t, rule);
	if (fresh)
		r = make_room(t);
	if (r == 0)
		r = publish(t, rule, t->fd);
	if (r < 0) {
		unlink_rule(t, rule);
		return r;
	}
	t->published += fresh;
	count(t, rule, 1);
	if (rule->until_ns && (!t->next_ns || rule->until_ns < t->next_ns))
		t->next_ns = rule->until_ns;
	tell_used(t);
	return 0;
}

int op_targets_add(struct op_targets *t, const struct otelprof_rule *from,
		   uint64_t now_ns, uint64_t *ret)
{
	_cleanup_(rule_freep) struct rule *rule = NULL;
	int rate = 0;
	int r;

	if (t->rules.len >= OTELPROF_RULES_MAX)
		return op_fail(t->config.log, -ENOSPC, "there are %d rules already",
			       OTELPROF_RULES_MAX);
	r = make_rule(t, from, now_ns, &rule);
	if (r < 0)
		return r;
	if (from->sample_rate_hz) {
		rate = op_rates_take(&t->rates, from->sample_rate_hz);
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
			op_rates_put(&t->rates, (uint32_t)rate);
		return r;
	}
	*ret = rule->number;
	rule = NULL;
	return 0;
}

int op_targets_remove(struct op_targets *t, uint64_t number)
{
	_cleanup_(rule_freep) struct rule *rule = NULL;
	uint64_t word;
	int r;

	if (!op_map64_get(&t->rules, number, &word))
		return -ENOENT;
	rule = rule_of(word);
	count(t, rule, -1);
	t->published -= is_only_one(t, rule);
	unlink_rule(t, rule);
	if (rule->rate)
		op_rates_put(&t->rates, rule->rate);
	/* replacing and deleting need no room */
	r = publish(t, rule, t->fd);
	tell_used(t);
	return r;
}

size_t op_targets_expire(struct op_targets *t, uint64_t now_ns)
{
	uint64_t over[OP_TARGETS_EXPIRE];
	uint64_t word;
	size_t len = 0;
	size_t at = 0;
	size_t i;

	if (!t->next_ns || t->next_ns > now_ns)
		return 0;
	while (len < OP_TARGETS_EXPIRE && op_map64_next(&t->rules, &at, &word)) {
		const struct rule *rule = rule_of(word);

		if (rule->until_ns && rule->until_ns <= now_ns)
			over[len++] = rule->number;
	}
	for (i = 0; i < len; i++)
		(void)op_targets_remove(t, over[i]);
	find_next(t);
	return len;
}

uint64_t op_targets_next_ns(const struct op_targets *t)
{
	return t->next_ns;
}

size_t op_targets_len(const struct op_targets *t)
{
	return t->rules.len;
}

struct op_rates *op_targets_rates(struct op_targets *t)
{
	return &t->rates;
}

static int by_number(const void *a, const void *b)
{
	const struct rule *x = rule_of(*(const uint64_t *)a);
	const struct rule *y = rule_of(*(const uint64_t *)b);

	return (x->number > y->number) - (x->number < y->number);
}

int op_targets_each(const struct op_targets *t, uint64_t now_ns, op_targets_fn fn,
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
		const struct rule *rule = rule_of(*word);
		struct otelprof_rule copy = rule->of;

		if (rule->until_ns)
			copy.duration_ns =
				rule->until_ns > now_ns ? rule->until_ns - now_ns : 1;
		fn(ctx, rule->number, &copy);
	}
	op_vec_clear(&all);
	return 0;
}
