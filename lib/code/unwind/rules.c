/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "code/unwind/arena.h"

/* Files repeat the same few hundred rules, so a small direct-mapped cache is asked before
 * the map. */
enum {
	CACHE_SLOTS = 512,
	CONSTANTS = 3,
	BITS = 8,
};

struct cached {
	struct op_unwind_rule rule;
	uint16_t number;
};

struct op_unwind_rules {
	struct op_unwind_rule *memory;
	uint32_t *refs;
	size_t cap;
	size_t len;
	uint64_t refused;
	struct op_map64 by_rule; /* the rule as one word -> its number */
	uint64_t *since_ns; /* since when a rule is unused; 0: no program has seen it */
	size_t unused;
	OP_VEC(uint16_t) free;
	/* zeroes are valid: the rule of zeroes has number 0 */
	struct cached cache[CACHE_SLOTS];
};

static uint64_t word_of(const struct op_unwind_rule *rule)
{
	uint64_t word;

	_Static_assert(sizeof(*rule) == sizeof(word), "a rule is a word");
	memcpy(&word, rule, sizeof(word));
	return word;
}

/* ---- places ---- */

static void forget(struct op_unwind_rules *rules, uint16_t number)
{
	uint64_t word = word_of(&rules->memory[number]);

	if (op_vec_reserve(&rules->free, 1) < 0)
		return; /* without memory the rule keeps its number */
	(void)op_map64_remove(&rules->by_rule, word);
	rules->free.data[rules->free.len++] = number;
	rules->cache[(op_hash_u64(word) >> 32) % CACHE_SLOTS] = (struct cached){ 0 };
	rules->since_ns[number] = UINT64_MAX;
	rules->unused--;
}

void op_unwind_rules_reclaim(struct op_unwind_rules *rules, uint64_t now_ns)
{
	size_t i;

	for (i = CONSTANTS; rules->unused && i < rules->len; i++)
		if (!rules->refs[i] && rules->since_ns[i] != UINT64_MAX &&
		    (!rules->since_ns[i] ||
		     now_ns >= rules->since_ns[i] + OP_ARENA_GRACE_NS))
			forget(rules, (uint16_t)i);
}

static int new_place(struct op_unwind_rules *rules, uint64_t word, uint16_t *ret)
{
	uint16_t number;

	if (!rules->free.len && rules->len == rules->cap)
		return -ENOSPC;
	number = rules->free.len ? rules->free.data[rules->free.len - 1]
				 : (uint16_t)rules->len;
	if (op_map64_put(&rules->by_rule, word, number) < 0)
		return -ENOMEM;
	if (rules->free.len)
		rules->free.len--;
	else
		rules->len++;
	*ret = number;
	return 0;
}

/* ---- sets ---- */

static bool set_has(const struct op_unwind_rule_set *set, uint16_t number)
{
	return set->has && set->has[number / BITS] & (1u << number % BITS);
}

/* Take a reference to a rule for @set. Returns 0 or -errno. */
static int set_add(struct op_unwind_rules *rules, struct op_unwind_rule_set *set,
		   uint16_t number)
{
	if (number < CONSTANTS || set_has(set, number))
		return 0;
	if (set->numbers.len >= OP_UNWIND_RULES_SET_MAX)
		return -E2BIG;
	if (!set->has)
		set->has = calloc(1, rules->cap / BITS + 1);
	if (!set->has || op_vec_reserve(&set->numbers, 1) < 0)
		return -ENOMEM;
	set->numbers.data[set->numbers.len++] = number;
	set->has[number / BITS] |= (uint8_t)(1u << number % BITS);
	if (!rules->refs[number]++)
		rules->unused--;
	return 0;
}

/* Find the number of a rule, or give it one, with a reference for @set. */
static int find_place(struct op_unwind_rules *rules, struct op_unwind_rule_set *set,
		      const struct op_unwind_rule *rule, uint16_t *ret)
{
	uint64_t word = word_of(rule);
	uint64_t known;
	uint16_t number;
	int r;

	if (op_map64_get(&rules->by_rule, word, &known)) {
		*ret = (uint16_t)known;
		return set_add(rules, set, *ret);
	}
	if (set->numbers.len >= OP_UNWIND_RULES_SET_MAX)
		return -E2BIG;
	r = new_place(rules, word, &number);
	if (r < 0) {
		set->full = set->full || r == -ENOSPC;
		return r;
	}
	rules->memory[number] = *rule;
	rules->since_ns[number] = 0;
	rules->unused++;
	*ret = number;
	return set_add(rules, set, number);
}

uint16_t op_unwind_rules_intern(struct op_unwind_rules *rules,
				struct op_unwind_rule_set *set,
				struct op_unwind_rule rule)
{
	uint64_t word = word_of(&rule);
	struct cached *slot = &rules->cache[(op_hash_u64(word) >> 32) % CACHE_SLOTS];
	uint16_t number;

	if (rule.cfa == OP_CFA_LATE)
		return OP_UNWIND_RULE_LATE;
	if (word_of(&slot->rule) == word &&
	    (slot->number < CONSTANTS || set_has(set, slot->number)))
		return slot->number;
	if (find_place(rules, set, &rule, &number) < 0) {
		rules->refused++;
		return OP_UNWIND_RULE_INVALID;
	}
	*slot = (struct cached){ .rule = rule, .number = number };
	return number;
}

void op_unwind_rule_set_close(struct op_unwind_rule_set *set)
{
	free(set->has);
	set->has = NULL;
}

void op_unwind_rules_release(struct op_unwind_rules *rules,
			     struct op_unwind_rule_set *set, uint64_t now_ns)
{
	size_t i;

	for (i = 0; i < set->numbers.len; i++) {
		uint16_t number = set->numbers.data[i];

		if (--rules->refs[number])
			continue;
		rules->unused++;
		rules->since_ns[number] = now_ns;
	}
	op_vec_clear(&set->numbers);
	op_unwind_rule_set_close(set);
}

/* ---- the table ---- */

static int add_constants(struct op_unwind_rules *rules)
{
	static const struct op_unwind_rule first[CONSTANTS] = {
		[OP_UNWIND_RULE_INVALID] = { .cfa = OP_CFA_INVALID },
		[OP_UNWIND_RULE_STOP] = { .cfa = OP_CFA_STOP },
		[OP_UNWIND_RULE_FRAME] = { .cfa = OP_CFA_FRAME },
	};
	uint16_t number;
	size_t i;

	for (i = 0; i < CONSTANTS; i++) {
		int r = new_place(rules, word_of(&first[i]), &number);

		if (r < 0)
			return r;
		rules->memory[number] = first[i];
	}
	return 0;
}

int op_unwind_rules_new(struct op_unwind_rule *memory, size_t cap,
			struct op_unwind_rules **ret)
{
	_cleanup_(op_unwind_rules_freep) struct op_unwind_rules *rules = NULL;
	int r;

	if (cap < CONSTANTS || cap > UINT16_MAX + 1)
		return -EINVAL;
	rules = calloc(1, sizeof(*rules));
	if (!rules)
		return -ENOMEM;
	rules->memory = memory;
	rules->cap = cap;
	rules->refs = calloc(cap, sizeof(*rules->refs));
	rules->since_ns = calloc(cap, sizeof(*rules->since_ns));
	if (!rules->refs || !rules->since_ns)
		return -ENOMEM;
	r = add_constants(rules);
	if (r < 0)
		return r;
	*ret = OP_TAKE_PTR(rules);
	return 0;
}

struct op_unwind_rules *op_unwind_rules_free(struct op_unwind_rules *rules)
{
	if (!rules)
		return NULL;
	op_map64_clear(&rules->by_rule);
	op_vec_clear(&rules->free);
	free(rules->refs);
	free(rules->since_ns);
	free(rules);
	return NULL;
}

const struct op_unwind_rule *op_unwind_rules_get(const struct op_unwind_rules *rules,
						 uint16_t number)
{
	return number < rules->cap ? &rules->memory[number] : NULL;
}

size_t op_unwind_rules_used(const struct op_unwind_rules *rules)
{
	return rules->len - rules->free.len - rules->unused;
}

size_t op_unwind_rules_len(const struct op_unwind_rules *rules)
{
	return rules->len;
}

uint64_t op_unwind_rules_refused(const struct op_unwind_rules *rules)
{
	return rules->refused;
}

size_t op_unwind_rules_bytes(const struct op_unwind_rules *rules)
{
	return sizeof(*rules) + op_map64_bytes(&rules->by_rule) +
	       rules->cap * (sizeof(*rules->refs) + sizeof(*rules->since_ns));
}
