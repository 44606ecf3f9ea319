/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/rules.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/macros.h"

/* Files repeat the same few hundred rules: a small direct-mapped cache before the index. */
enum {
	CACHE_SLOTS = 512
};

struct cached {
	struct op_rule rule;
	uint16_t number;
};

struct op_rules {
	struct op_rule *memory;
	size_t cap;
	size_t len;
	uint64_t refused;
	struct op_index index;
	struct cached cache[CACHE_SLOTS]; /* all zeroes is right: that rule is number 0 */
};

static bool same(const struct op_rule *a, const struct op_rule *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static bool equal(const void *elements, uint32_t i, const void *key)
{
	return same((const struct op_rule *)elements + i, key);
}

static uint64_t hash_of(const struct op_rule *rule)
{
	uint64_t word;

	memcpy(&word, rule, sizeof(word));
	return op_hash_u64(word);
}

/* The number of a rule that is not in the cache. */
static uint16_t intern(struct op_rules *rules, const struct op_rule *rule, uint32_t hash)
{
	uint32_t found = op_index_find(&rules->index, hash, rules->memory, rule, equal);

	if (found != UINT32_MAX)
		return (uint16_t)found;
	if (rules->len == rules->cap ||
	    op_index_add(&rules->index, hash, (uint32_t)rules->len) < 0) {
		rules->refused++;
		return OP_RULE_INVALID;
	}
	rules->memory[rules->len] = *rule;
	return (uint16_t)rules->len++;
}

uint16_t op_rules_intern(struct op_rules *rules, struct op_rule rule)
{
	uint64_t hash = hash_of(&rule);
	struct cached *slot = &rules->cache[(hash >> 32) % CACHE_SLOTS];

	if (!same(&slot->rule, &rule)) {
		uint16_t number = intern(rules, &rule, (uint32_t)hash);

		if (number == OP_RULE_INVALID)
			return number; /* refused rules stay out: each use is counted */
		*slot = (struct cached){ .rule = rule, .number = number };
	}
	return slot->number;
}

int op_rules_new(struct op_rule *memory, size_t cap, struct op_rules **ret)
{
	static const struct op_rule first[] = {
		[OP_RULE_INVALID] = { .cfa = OP_CFA_INVALID },
		[OP_RULE_STOP] = { .cfa = OP_CFA_STOP },
		[OP_RULE_FRAME] = { .cfa = OP_CFA_FRAME },
	};
	_cleanup_(op_rules_freep) struct op_rules *rules = NULL;
	size_t i;

	if (cap < OP_ARRAY_SIZE(first) || cap > UINT16_MAX + 1)
		return -EINVAL;
	rules = calloc(1, sizeof(*rules));
	if (!rules)
		return -ENOMEM;
	rules->memory = memory;
	rules->cap = cap;
	for (i = 0; i < OP_ARRAY_SIZE(first); i++) {
		int r = op_index_add(&rules->index, (uint32_t)hash_of(&first[i]),
				     (uint32_t)i);

		if (r < 0)
			return r;
		memory[i] = first[i];
	}
	rules->len = OP_ARRAY_SIZE(first);
	*ret = OP_TAKE_PTR(rules);
	return 0;
}

struct op_rules *op_rules_free(struct op_rules *rules)
{
	if (!rules)
		return NULL;
	op_index_clear(&rules->index);
	free(rules);
	return NULL;
}

size_t op_rules_len(const struct op_rules *rules)
{
	return rules->len;
}

uint64_t op_rules_refused(const struct op_rules *rules)
{
	return rules->refused;
}
