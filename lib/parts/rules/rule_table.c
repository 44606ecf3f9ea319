/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's table of what rules say, under what they are of. */
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
	uint32_t verdict = rule->of.action == OTELPROF_FILTER_EXCLUDE ? OP_VERDICT_DROP
								      : OP_VERDICT_KEEP;

	return rule->of.action == OTELPROF_RULE_RATE
		       ? 0
		       : rule->number << OP_RULE_SHIFT | verdict;
}

/* What the rules of @like's target say together; false where there is none. */
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
		if (!ret->verdict)
			ret->verdict = verdict_of(rule);
		if (!ret->rate && rule->rate)
			ret->rate = rule->number << OP_RULE_SHIFT | rule->rate;
	}
	return any;
}

/* The same for rules of programs: processes that they mean have the entries. */
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

/* Bring all to the map @fd. */
static int publish_all(const struct op_rule_set *t, int fd)
{
	uint64_t word;
	size_t at = 0;
	int r = 0;

	while (r == 0 && op_map64_next(&t->by_key, &at, &word)) {
		const struct op_rule *newer = NULL;
		const struct op_rule *rule = op_rule_of(word);

		/* those of one target are published together */
		for (; r == 0 && rule; newer = rule, rule = rule->older)
			if (!op_rule_is_of_programs(rule) &&
			    (!newer || !op_rule_same(newer, rule)))
				r = publish_in(t, rule, fd);
	}
	return r == 0 ? op_matches_each(t->matches, copy_process, &fd) : r;
}

/* A table for @room targets in place of the one there is. */
static int grow(struct op_rule_set *t, uint32_t room)
{
	_cleanup_close_ int fd = op_capture_rule_map_new(t->config.capture, room);
	int r = fd < 0 ? fd : publish_all(t, fd);

	if (r == 0)
		r = op_capture_rule_map_use(t->config.capture, fd);
	if (r < 0)
		return r;
	op_closep(&t->fd);
	t->fd = OP_TAKE_FD(fd);
	t->room = room;
	return 0;
}

int op_rule_table_reserve(struct op_rule_set *t)
{
	if (t->published < t->room)
		return 0;
	if (!t->room)
		return grow(t, OP_RULE_SET_FIRST);
	return grow(t,
		    t->room < OTELPROF_RULES_MAX ? OTELPROF_RULES_MAX : OP_RULE_SET_MAX);
}

void op_rule_table_publish_use(struct op_rule_set *t)
{
	struct op_rule_use used = { .include = t->includes != 0 };
	uint32_t i;

	t->changed = false;
	for (i = 0; i < OP_RULE_KINDS; i++)
		used.kinds |= (uint32_t)(t->kinds[i] != 0) << i;
	for (i = 0; i < OP_CGROUP_DEPTHS; i++)
		used.cgroup_depths |= (uint32_t)(t->depths[i] != 0) << i;
	op_capture_set_rule_use(t->config.capture, &used);
}

int op_rule_table_publish_process(void *ctx, const struct op_rule_key *key,
				  const struct op_rule_decision *decision, bool fresh)
{
	struct op_rule_set *t = ctx;
	int r = fresh ? op_rule_table_reserve(t) : 0;

	/* It counts though it may fail: it is unpublished then. */
	t->published += fresh;
	t->changed = true;
	return r < 0 ? r : bpf_map_update_elem(t->fd, key, decision, BPF_ANY);
}

void op_rule_table_unpublish_process(void *ctx, const struct op_rule_key *key, bool known)
{
	struct op_rule_set *t = ctx;
	bool gone = t->fd >= 0 && bpf_map_delete_elem(t->fd, key) == 0;

	t->published -= known;
	t->changed |= known || gone;
}
