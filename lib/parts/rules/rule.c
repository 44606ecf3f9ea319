/* SPDX-License-Identifier: Apache-2.0 */
/* One rule: its copy, and the key of its target. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "parts/rules/cgroup.h"
#include "parts/rules/state.h"

int op_rule_new(const struct otelprof_rule *from, struct op_rule **ret)
{
	_cleanup_(op_rule_freep) struct op_rule *rule = calloc(1, sizeof(*rule));

	if (!rule)
		return -ENOMEM;
	rule->of = *from;
	rule->of.text = from->text ? strdup(from->text) : NULL;
	if (from->text && !rule->of.text)
		return -ENOMEM;
	*ret = OP_TAKE_PTR(rule);
	return 0;
}

struct op_rule *op_rule_free(struct op_rule *rule)
{
	if (!rule)
		return NULL;
	free(rule->group);
	free((void *)rule->of.text);
	free(rule);
	return NULL;
}

/* Two hashes of 64 bits identify a text of any length. */
static void set_text_key(const struct op_rule_set *t, struct op_rule *rule, uint32_t kind)
{
	size_t len = strlen(rule->of.text);

	rule->key.kind = kind;
	rule->key.word[0] = op_hash_bytes(rule->of.text, len, t->seed);
	rule->key.word[1] = op_hash_bytes(rule->of.text, len, ~t->seed);
}

static int set_group(const struct op_rule_set *t, struct op_rule *rule)
{
	const struct op_rule_groups groups = {
		.log = t->config.log,
		.procfs_root = t->config.procfs_root,
		.ancestors = op_capture_sees_ancestors(t->config.capture),
	};
	struct op_rule_group group;
	int r = op_rule_cgroup(&groups, rule->of.kind, rule->of.text, &group);

	rule->key.kind = OP_RULE_CGROUP;
	if (r < 0)
		return r;
	if (group.depth >= OP_CGROUP_DEPTHS)
		return op_fail(t->config.log, -E2BIG,
			       "the cgroup %s is more than %d levels deep", rule->of.text,
			       OP_CGROUP_DEPTHS - 1);
	free(rule->group);
	rule->group = strdup(group.path);
	rule->key.word[0] = group.id;
	rule->depth = group.depth;
	return rule->group ? 0 : -ENOMEM;
}

static int set_key(const struct op_rule_set *t, struct op_rule *rule)
{
	static const uint32_t kinds[] = {
		[OTELPROF_MATCH_ALL] = OP_TARGET_ALL,
		[OTELPROF_MATCH_PID] = OP_RULE_PID,
		[OTELPROF_MATCH_TREE] = OP_TARGET_TREE,
		[OTELPROF_MATCH_UID] = OP_RULE_UID,
		[OTELPROF_MATCH_AGE] = OP_TARGET_AGE,
	};
	char *comm = (char *)rule->key.word;

	memset(&rule->key, 0, sizeof(rule->key));
	switch (rule->of.kind) {
	case OTELPROF_MATCH_COMM:
		rule->key.kind = OP_RULE_COMM;
		memcpy(comm, rule->of.text,
		       OP_MIN(strlen(rule->of.text), sizeof(rule->key.word) - 1));
		return 0;
	case OTELPROF_MATCH_EXECUTABLE:
		set_text_key(t, rule, OP_RULE_EXECUTABLE);
		return 0;
	case OTELPROF_MATCH_ENVIRONMENT:
		set_text_key(t, rule, OP_RULE_ENVIRONMENT);
		return 0;
	case OTELPROF_MATCH_CGROUP:
	case OTELPROF_MATCH_CONTAINER:
	case OTELPROF_MATCH_POD:
		return set_group(t, rule);
	default:
		rule->key.kind = kinds[rule->of.kind];
		rule->key.word[0] = rule->key.kind == OP_TARGET_ALL ? 0 : rule->of.number;
		return 0;
	}
}

int op_rule_find_key(const struct op_rule_set *t, struct op_rule *rule)
{
	int r = set_key(t, rule);

	rule->hash = op_hash_bytes(&rule->key, sizeof(rule->key), t->seed);
	return r;
}
