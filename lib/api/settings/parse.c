/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the elements of lists: pairs and rules. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/settings/values.h"
#include "base/cleanup.h"
#include "base/hex.h"
#include "base/macros.h"
#include "profile/utf8.h"

enum {
	COMM_MAX = 15,
	NS_A_SECOND = 1000000000,
};

char *op_trim(char *s)
{
	size_t len;

	s += strspn(s, " \t\r");
	len = strlen(s);
	while (len && strchr(" \t\r", s[len - 1]))
		s[--len] = 0;
	return s;
}

bool op_parse_number(const char *text, uint64_t *ret)
{
	char *end = NULL;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return !errno && !*end;
}

static int add_pair(struct op_pairs *pairs, const char *key, const char *value)
{
	_cleanup_free_ char *k = strdup(key);
	_cleanup_(op_wipep) char *v = strdup(value);
	struct otelprof_attribute *to = k && v ? op_vec_push(pairs) : NULL;

	if (!to)
		return -ENOMEM;
	to->key = OP_TAKE_PTR(k);
	to->value = OP_TAKE_PTR(v);
	return 0;
}

static struct otelprof_attribute *find_pair(struct op_pairs *pairs, const char *key)
{
	struct otelprof_attribute *pair;

	op_vec_foreach(pair, pairs)
		if (strcmp(pair->key, key) == 0)
			return pair;
	return NULL;
}

static int replace_value(struct otelprof_attribute *pair, const char *value)
{
	char *v = strdup(value);

	if (!v)
		return -ENOMEM;
	op_wipep(&pair->value);
	pair->value = v;
	return 0;
}

/* A value may be a secret, so no sentence quotes one. */
static int parse_pair(struct op_pairs *pairs, char *item, bool (*skip)(const char *key),
		      bool first_wins, bool decode, const char *what, struct op_log *log)
{
	char *value = strchr(item, '=');
	struct otelprof_attribute *pair;
	char *key;

	if (!value)
		return op_fail(log, -EINVAL,
			       "%s: an entry has no \"=\"; write KEY=VALUE, with commas "
			       "between",
			       what);
	*value++ = 0;
	key = op_trim(item);
	value = op_trim(value);
	if (!*key)
		return op_fail(log, -EINVAL, "%s: an entry has no key before \"=\"",
			       what);
	if (decode && !op_percent_decode(key))
		return op_fail(
			log, -EINVAL,
			"%s: a key has a %% without two hex digits; write %%25 for "
			"a %%",
			what);
	if (decode && !op_percent_decode(value))
		return op_fail(log, -EINVAL,
			       "%s: the value of \"%.*s\" has a %% without two hex "
			       "digits; write %%25 for a %%",
			       what, OP_VALUE_QUOTED, key);
	if (!op_utf8_valid(key, strlen(key)) || !op_utf8_valid(value, strlen(value)))
		return op_fail(log, -EINVAL, "%s: an entry is not UTF-8", what);
	if (skip && skip(key))
		return 0;
	pair = find_pair(pairs, key);
	if (pair)
		return first_wins ? 0 : replace_value(pair, value);
	if (pairs->len == OP_PAIRS_MAX)
		return op_fail(log, -EINVAL, "%s: there are more than %d entries", what,
			       OP_PAIRS_MAX);
	return add_pair(pairs, key, value);
}

int op_parse_pairs(struct op_pairs *pairs, const char *text,
		   bool (*skip)(const char *key), bool first_wins, const char *what,
		   struct op_log *log)
{
	_cleanup_free_ char *copy = strdup(text);
	char *next = copy;
	char *item;
	int r = copy ? 0 : -ENOMEM;

	while (r == 0 && (item = strsep(&next, ",")))
		if (*op_trim(item))
			r = parse_pair(pairs, item, skip, first_wins, true, what, log);
	return r;
}

int op_parse_pair(struct op_pairs *pairs, const char *text, const char *what,
		  struct op_log *log)
{
	_cleanup_(op_wipep) char *copy = strdup(text);

	return copy ? parse_pair(pairs, copy, NULL, false, false, what, log) : -ENOMEM;
}

/* The targets of rules. */
static const struct {
	const char *prefix;
	uint32_t kind;
	bool text;
} TARGETS[] = {
	{ "pid:", OTELPROF_MATCH_PID, false },
	{ "tree:", OTELPROF_MATCH_TREE, false },
	{ "uid:", OTELPROF_MATCH_UID, false },
	{ "age:", OTELPROF_MATCH_AGE, false },
	{ "comm:", OTELPROF_MATCH_COMM, true },
	{ "cgroup:", OTELPROF_MATCH_CGROUP, true },
	{ "container:", OTELPROF_MATCH_CONTAINER, true },
	{ "pod:", OTELPROF_MATCH_POD, true },
	{ "exe:", OTELPROF_MATCH_EXECUTABLE, true },
	{ "env:", OTELPROF_MATCH_ENVIRONMENT, true },
};

/* Parse "5s" or "500ms". */
static bool parse_age(char *text, struct otelprof_rule *rule)
{
	char *unit = text + strspn(text, "0123456789");
	uint64_t unit_ns = strcmp(unit, "s") == 0    ? NS_A_SECOND
			   : strcmp(unit, "ms") == 0 ? NS_A_SECOND / 1000
						     : 0;

	*unit = 0;
	return unit_ns && op_parse_number(text, &rule->number) &&
	       !__builtin_mul_overflow(rule->number, unit_ns, &rule->number);
}

/* Parse "all", "pid:7" or "comm:web". A text is not copied. */
static bool parse_target(char *text, struct otelprof_rule *rule)
{
	size_t i;

	if (strcmp(text, "all") == 0) {
		rule->kind = OTELPROF_MATCH_ALL;
		return true;
	}
	for (i = 0; i < OP_ARRAY_SIZE(TARGETS); i++) {
		size_t len = strlen(TARGETS[i].prefix);

		if (strncmp(text, TARGETS[i].prefix, len) != 0)
			continue;
		rule->kind = TARGETS[i].kind;
		rule->text = TARGETS[i].text ? text + len : NULL;
		if (rule->text)
			return *rule->text && (rule->kind != OTELPROF_MATCH_COMM ||
					       strlen(rule->text) <= COMM_MAX);
		if (rule->kind == OTELPROF_MATCH_AGE)
			return parse_age(text + len, rule);
		return op_parse_number(text + len, &rule->number) &&
		       rule->number <= UINT32_MAX;
	}
	return false;
}

/* Remove a word from @rest that begins with a digit, and the blanks after it. */
static char *take_number(char **rest)
{
	char *word = *rest;
	char *space = strchr(word, ' ');

	if (*word < '0' || *word > '9' || !space)
		return NULL;
	*space = 0;
	*rest = op_trim(space + 1);
	return word;
}

/* Parse "[HZ ][1/N ]TARGET". */
static bool parse_rest(char *rest, struct otelprof_rule *rule)
{
	uint64_t hz = 0;
	uint64_t n = 0;
	char *word = take_number(&rest);

	if (word && strncmp(word, "1/", 2) != 0) {
		if (!op_parse_number(word, &hz) || hz > 1000 || !hz)
			return false;
		word = take_number(&rest);
	}
	if (word && (strncmp(word, "1/", 2) != 0 || !op_parse_number(word + 2, &n) ||
		     !n || n > UINT32_MAX))
		return false;
	rule->sample_rate_hz = (uint32_t)hz;
	rule->keep_one_in = (uint32_t)n;
	return parse_target(rest, rule) &&
	       (rule->action == OTELPROF_RULE_INCLUDE || !n) &&
	       (rule->action == OTELPROF_RULE_RATE) <= (hz != 0) &&
	       (rule->action != OTELPROF_RULE_EXCLUDE || !hz);
}

int op_parse_rule(const char *text, const char *what, struct op_log *log,
		  struct otelprof_rule *ret)
{
	static const struct op_word ACTIONS[] = {
		{ "include ", OTELPROF_RULE_INCLUDE },
		{ "exclude ", OTELPROF_RULE_EXCLUDE },
		{ "rate ", OTELPROF_RULE_RATE },
	};
	_cleanup_free_ char *copy = strdup(text);
	bool good = false;
	size_t i;

	if (!copy)
		return -ENOMEM;
	memset(ret, 0, sizeof(*ret));
	ret->size = sizeof(*ret);
	for (i = 0; i < OP_ARRAY_SIZE(ACTIONS) && !good; i++) {
		size_t len = strlen(ACTIONS[i].name);

		if (strncmp(copy, ACTIONS[i].name, len) != 0)
			continue;
		ret->action = (uint32_t)ACTIONS[i].value;
		good = parse_rest(op_trim(copy + len), ret);
		break;
	}
	if (!good)
		return op_fail(
			log, -EINVAL,
			"%s: \"%.*s\" is not a rule; write include [HZ] [1/N] TARGET, exclude "
			"TARGET or rate HZ TARGET, where TARGET is all, pid:N, tree:N, uid:N, "
			"age:Ns or Nms, comm:NAME (at most 15 bytes), cgroup:PATH, "
			"container:ID, pod:UID, exe:PATH or env:NAME[=VALUE], and HZ is 1 to "
			"1000",
			what, OP_VALUE_QUOTED, text);
	if (ret->text) {
		ret->text = strdup(ret->text);
		if (!ret->text)
			return -ENOMEM;
	}
	return 0;
}
