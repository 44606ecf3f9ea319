/* SPDX-License-Identifier: Apache-2.0 */
#include "api/settings/values.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "process/resource/environment.h"

enum {
	FRACTION_DIGITS = 9, /* so that products with any factor fit */
};

static void *at(struct op_values *v, const struct op_key *key)
{
	return (char *)v + key->offset;
}

static const void *at_const(const struct op_values *v, const struct op_key *key)
{
	return (const char *)v + key->offset;
}

static int bad(const struct op_key *key, const char *text, const char *must,
	       const char *what, struct op_log *log)
{
	return op_fail(log, -EINVAL, "%s: %s is \"%.*s\" and must be %s", what, key->name,
		       OP_VALUE_QUOTED, text, must);
}

/* The factor of the suffix @name for a value of @unit; 0: no such suffix. */
static uint64_t factor_of(enum op_unit unit, const char *name)
{
	static const struct {
		enum op_unit unit;
		const char *name;
		uint64_t factor;
	} SUFFIXES[] = {
		{ OP_UNIT_BYTES, "KiB", UINT64_C(1) << 10 },
		{ OP_UNIT_BYTES, "MiB", UINT64_C(1) << 20 },
		{ OP_UNIT_BYTES, "GiB", UINT64_C(1) << 30 },
		{ OP_UNIT_NS, "ns", 1 },
		{ OP_UNIT_NS, "us", 1000 },
		{ OP_UNIT_NS, "ms", 1000000 },
		{ OP_UNIT_NS, "s", 1000000000 },
		{ OP_UNIT_MS, "ms", 1 },
		{ OP_UNIT_MS, "s", 1000 },
		{ OP_UNIT_MS, "m", 60000 },
		{ OP_UNIT_PERMILLE, "%", 10 },
	};
	size_t i;

	if (!*name)
		return 1;
	for (i = 0; i < OP_ARRAY_SIZE(SUFFIXES); i++)
		if (SUFFIXES[i].unit == unit && strcmp(SUFFIXES[i].name, name) == 0)
			return SUFFIXES[i].factor;
	return 0;
}

/* Parse "64", "64MiB" or "0.5%". @as is the suffix of a number without one. */
static bool parse_number(const struct op_key *key, const char *text, const char *as,
			 uint64_t *ret)
{
	size_t whole = strspn(text, "0123456789");
	size_t part = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
	const char *suffix = text + whole + (part ? part + 1 : 0);
	uint64_t factor;
	uint64_t fraction = 0;
	uint64_t scale = 1;
	size_t i;

	suffix += strspn(suffix, " ");
	factor = factor_of(key->unit, *suffix ? suffix : as);
	if (!whole || !factor || part > FRACTION_DIGITS || (part && factor == 1))
		return false;
	for (i = 1; i <= part; i++, scale *= 10)
		fraction = fraction * 10 + (uint64_t)(text[whole + i] - '0');
	errno = 0;
	*ret = strtoull(text, NULL, 10);
	return !errno && !__builtin_mul_overflow(*ret, factor, ret) &&
	       !__builtin_add_overflow(*ret, fraction * factor / scale, ret);
}

static int set_number(void *to, const struct op_key *key, const char *text,
		      const char *as, const char *what, struct op_log *log)
{
	static const char *const UNITS[] = {
		[OP_UNIT_NONE] = "in digits alone",
		[OP_UNIT_BYTES] = "or with KiB, MiB or GiB",
		[OP_UNIT_NS] = "or with us, ms or s",
		[OP_UNIT_MS] = "or with s or m",
		[OP_UNIT_PERMILLE] = "or with %",
	};
	uint64_t n = 0;
	bool power = key->type == OP_TYPE_POWER;

	if (!parse_number(key, text, as, &n) ||
	    ((n < key->min || n > key->max) &&
	     !(!n && (power || key->type == OP_TYPE_LIMIT))))
		return op_fail(log, -EINVAL,
			       "%s: %s is \"%.*s%s\" and must be a number from %llu to "
			       "%llu, %s",
			       what, key->name, OP_VALUE_QUOTED, text,
			       text[strspn(text, "0123456789.")] ? "" : as,
			       (unsigned long long)key->min, (unsigned long long)key->max,
			       UNITS[key->unit]);
	if (power && n & (n - 1))
		return bad(key, text, "a power of two", what, log);
	if (key->type == OP_TYPE_U64 || key->type == OP_TYPE_LIMIT)
		*(uint64_t *)to = n;
	else
		*(uint32_t *)to = (uint32_t)n;
	return 0;
}

static int set_switch(void *to, const struct op_key *key, const char *text,
		      const char *as, const char *what, struct op_log *log)
{
	bool on = strcmp(text, "true") == 0;

	if (!on && strcmp(text, "false") != 0)
		return bad(key, text, "true or false", what, log);
	on ^= strcmp(as, "not") == 0;
	if (key->type == OP_TYPE_FLAG)
		*(uint32_t *)to = on;
	else if (on == (key->type == OP_TYPE_ON))
		*(uint64_t *)to |= key->min;
	else
		*(uint64_t *)to &= ~key->min;
	return 0;
}

static const struct op_word *find_word(const struct op_key *key, const char *name)
{
	return op_word_find(op_key_words_get((enum op_key_words)key->min), name,
			    strlen(name));
}

static int bad_word(const struct op_key *key, const char *text, const char *what,
		    struct op_log *log)
{
	char names[OP_WORD_LIST_BYTES];

	op_word_list(op_key_words_get((enum op_key_words)key->min), names);
	return op_fail(log, -EINVAL, "%s: %s is \"%.*s\" and must be one of: %s", what,
		       key->name, OP_VALUE_QUOTED, text, names);
}

static int set_word(void *to, const struct op_key *key, const char *text,
		    const char *what, struct op_log *log)
{
	const struct op_word *word = find_word(key, text);

	if (!word)
		return bad_word(key, text, what, log);
	*(uint32_t *)to = (uint32_t)word->value;
	return 0;
}

static int set_bits(void *to, const struct op_key *key, const char *text,
		    const char *what, struct op_log *log)
{
	_cleanup_free_ char *copy = strdup(text);
	char *next = copy;
	uint64_t bits = 0;
	char *item;

	if (!copy)
		return -ENOMEM;
	while ((item = strsep(&next, ","))) {
		const struct op_word *word;

		item = op_trim(item);
		if (!*item)
			continue;
		word = find_word(key, item);
		if (!word)
			return bad_word(key, item, what, log);
		bits |= word->value;
	}
	*(uint64_t *)to |= bits;
	return 0;
}

static int set_text(void *to, const struct op_key *key, const char *text)
{
	const char **s = to;
	char *copy = NULL;

	if (*text || key->min) {
		copy = strdup(text);
		if (!copy)
			return -ENOMEM;
	}
	free((void *)*s);
	*s = copy;
	return 0;
}

static int add_text(struct op_texts *texts, const char *text)
{
	const char **to;
	char *copy = strdup(text);

	to = copy ? op_vec_push(texts) : NULL;
	if (!to) {
		free(copy);
		return -ENOMEM;
	}
	*to = copy;
	return 0;
}

static int add_names(struct op_texts *names, const struct op_key *key, const char *text,
		     const char *what, struct op_log *log)
{
	_cleanup_free_ char *copy = strdup(text);
	char *next = copy;
	char *item;
	int r = copy ? 0 : -ENOMEM;

	while (r == 0 && (item = strsep(&next, ","))) {
		item = op_trim(item);
		if (!*item)
			continue;
		if (names->len == OTELPROF_ENVIRONMENT_MAX)
			return op_fail(log, -EINVAL, "%s: %s has more than %d names",
				       what, key->name, OTELPROF_ENVIRONMENT_MAX);
		if (strchr(item, '=') || strlen(item) > OP_VARIABLE_NAME_MAX)
			return bad(key, item, "a name of at most 128 bytes without '='",
				   what, log);
		r = add_text(names, item);
	}
	return r;
}

static int add_rule(struct op_rule_list *rules, const char *text, const char *what,
		    struct op_log *log)
{
	struct otelprof_rule rule;
	struct otelprof_rule *to;
	int r;

	if (rules->len == OP_RULE_LINES_MAX)
		return op_fail(log, -EINVAL, "%s: there are more than %d rules", what,
			       OP_RULE_LINES_MAX);
	r = op_parse_rule(text, what, log, &rule);
	if (r < 0)
		return r;
	to = op_vec_push(rules);
	if (!to) {
		free((void *)rule.text);
		return -ENOMEM;
	}
	*to = rule;
	return 0;
}

/* Protocols need lower case for the keys of headers. */
static int set_pairs(struct op_values *v, struct op_pairs *pairs, const char *text,
		     const char *as, const char *what, struct op_log *log)
{
	struct otelprof_attribute *pair;
	int r;

	if (*text && strcmp(as, "one") == 0)
		r = op_parse_pair(pairs, text, what, log);
	else
		r = op_parse_pairs(pairs, text, NULL, false, what, log);
	if (pairs != &v->list.headers)
		return r;
	op_vec_foreach(pair, pairs) {
		char *c;

		for (c = (char *)pair->key; *c; c++)
			*c = (char)tolower((unsigned char)*c);
	}
	return r;
}

int op_value_set(struct op_values *v, const struct op_key *key, const char *text,
		 const char *as, const char *what, struct op_log *log)
{
	void *to = at(v, key);

	switch (key->type) {
	case OP_TYPE_U32:
	case OP_TYPE_U64:
	case OP_TYPE_LIMIT:
	case OP_TYPE_POWER:
		return set_number(to, key, text, as, what, log);
	case OP_TYPE_ON:
	case OP_TYPE_OFF:
	case OP_TYPE_FLAG:
		return set_switch(to, key, text, as, what, log);
	case OP_TYPE_WORD:
		return set_word(to, key, text, what, log);
	case OP_TYPE_BITS:
		return set_bits(to, key, text, what, log);
	case OP_TYPE_TEXT:
		return set_text(to, key, text);
	case OP_TYPE_PAIRS:
		return set_pairs(v, to, text, as, what, log);
	case OP_TYPE_NAMES:
		return add_names(to, key, text, what, log);
	case OP_TYPE_PROBES:
		if (!*text)
			return 0;
		if (((struct op_texts *)to)->len == OP_PROBE_LINES_MAX)
			return op_fail(log, -EINVAL, "%s: there are more than %d probes",
				       what, OP_PROBE_LINES_MAX);
		return add_text(to, text);
	case OP_TYPE_RULES:
		return *text ? add_rule(to, text, what, log) : 0;
	}
	return -EINVAL;
}

int op_value_settle(struct op_values *v, const struct op_key *key, struct op_log *log)
{
	bool wide = key->type == OP_TYPE_U64 || key->type == OP_TYPE_LIMIT;
	const void *at = at_const(v, key);
	uint64_t n;

	if (key->type > OP_TYPE_POWER && key->type != OP_TYPE_WORD)
		return 0;
	n = wide ? *(const uint64_t *)at : *(const uint32_t *)at;
	if (!n && key->type != OP_TYPE_LIMIT && key->type != OP_TYPE_POWER)
		return op_value_set(v, key, key->fallback, "", "default", log);
	if (!n || key->type == OP_TYPE_WORD)
		return 0;
	if (n < key->min || n > key->max)
		return op_fail(log, -EINVAL, "%s is %llu and must be %llu to %llu",
			       key->name, (unsigned long long)n,
			       (unsigned long long)key->min,
			       (unsigned long long)key->max);
	if (key->type == OP_TYPE_POWER && n & (n - 1))
		return op_fail(log, -EINVAL, "%s must be a power of two", key->name);
	return 0;
}

void op_pairs_clear(struct op_pairs *pairs)
{
	size_t i;

	for (i = 0; i < pairs->len; i++) {
		free((void *)pairs->data[i].key);
		op_wipep(&pairs->data[i].value); /* may be a secret */
	}
	op_vec_clear(pairs);
}

static void clear_texts(struct op_texts *texts)
{
	size_t i;

	for (i = 0; i < texts->len; i++)
		free((void *)texts->data[i]);
	op_vec_clear(texts);
}

static void clear_rules(struct op_rule_list *rules)
{
	size_t i;

	for (i = 0; i < rules->len; i++)
		free((void *)rules->data[i].text);
	op_vec_clear(rules);
}

void op_value_clear(struct op_values *v, const struct op_key *key)
{
	if (key->type == OP_TYPE_PAIRS)
		op_pairs_clear(at(v, key));
	else if (key->type == OP_TYPE_NAMES || key->type == OP_TYPE_PROBES)
		clear_texts(at(v, key));
	else if (key->type == OP_TYPE_RULES)
		clear_rules(at(v, key));
	else if (key->type == OP_TYPE_BITS)
		*(uint64_t *)at(v, key) = 0;
}

void op_values_deinit(struct op_values *v)
{
	int i;

	for (i = 0; i < OP_KEYS; i++) {
		const struct op_key *key = op_key_get((enum op_key_number)i);

		if (key->type == OP_TYPE_TEXT)
			free(*(void **)at(v, key));
		else
			op_value_clear(v, key);
	}
	memset(v, 0, sizeof(*v));
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_texts(const struct op_texts *a, const struct op_texts *b)
{
	size_t i;

	for (i = 0; i < a->len && i < b->len; i++)
		if (strcmp(a->data[i], b->data[i]) != 0)
			return false;
	return a->len == b->len;
}

static bool same_pairs(const struct op_pairs *a, const struct op_pairs *b)
{
	size_t i;

	for (i = 0; i < a->len && i < b->len; i++)
		if (strcmp(a->data[i].key, b->data[i].key) != 0 ||
		    strcmp(a->data[i].value, b->data[i].value) != 0)
			return false;
	return a->len == b->len;
}

static bool same_rules(const struct op_rule_list *a, const struct op_rule_list *b)
{
	size_t i;

	for (i = 0; i < a->len && i < b->len; i++) {
		const struct otelprof_rule *x = &a->data[i];
		const struct otelprof_rule *y = &b->data[i];

		if (x->kind != y->kind || x->action != y->action ||
		    x->number != y->number || x->sample_rate_hz != y->sample_rate_hz ||
		    x->keep_one_in != y->keep_one_in || !same_text(x->text, y->text))
			return false;
	}
	return a->len == b->len;
}

bool op_value_equal(const struct op_values *a, const struct op_values *b,
		    const struct op_key *key)
{
	const void *x = at_const(a, key);
	const void *y = at_const(b, key);

	switch (key->type) {
	case OP_TYPE_U32:
	case OP_TYPE_POWER:
	case OP_TYPE_FLAG:
	case OP_TYPE_WORD:
		return *(const uint32_t *)x == *(const uint32_t *)y;
	case OP_TYPE_U64:
	case OP_TYPE_LIMIT:
	case OP_TYPE_BITS:
		return *(const uint64_t *)x == *(const uint64_t *)y;
	case OP_TYPE_ON:
	case OP_TYPE_OFF:
		return !((*(const uint64_t *)x ^ *(const uint64_t *)y) & key->min);
	case OP_TYPE_TEXT:
		return same_text(*(const char *const *)x, *(const char *const *)y);
	case OP_TYPE_PAIRS:
		return same_pairs(x, y);
	case OP_TYPE_NAMES:
	case OP_TYPE_PROBES:
		return same_texts(x, y);
	case OP_TYPE_RULES:
		return same_rules(x, y);
	}
	return false;
}
