/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/requests/pattern.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/foreign/text.h"
#include "base/macros.h"
#include "base/vec.h"
#include "export/format/collect/collect.h"

struct expression {
	char *text;
	regex_t regex;
};

enum answer {
	UNKNOWN,
	NO,
	YES,
};

struct pattern {
	struct expression of[PATTERNS_MAX];
	size_t len;
	struct op_strings names; /* expressions that were added */
	OP_VEC(uint8_t) answers; /* by the number of a name */
};

struct pattern *pattern_free(struct pattern *p)
{
	size_t i;

	if (!p)
		return NULL;
	for (i = 0; i < p->len; i++) {
		regfree(&p->of[i].regex);
		free(p->of[i].text);
	}
	op_strings_deinit(&p->names);
	op_vec_clear(&p->answers);
	free(p);
	return NULL;
}

static int say(char why[PATTERN_WHY_BYTES], const char *what)
{
	(void)snprintf(why, PATTERN_WHY_BYTES, "%s", what);
	return -EINVAL;
}

/* The length of the bracket expression that begins at @s. Characters in it have no
 * other meaning. */
static size_t bracket_len(const char *s)
{
	size_t i = 1;

	i += s[i] == '^';
	i += s[i] == ']';
	while (s[i] && s[i] != ']')
		i++;
	return i + (s[i] == ']');
}

/* How often @s, which follows @last, repeats: the larger number of a bound such as {3,9}.
 * Without such a number it is 2 if @last ends a group or a repetition, because each of those
 * doubles glibc's time. */
static unsigned long repeats_at(const char *s, char last)
{
	bool nested = last && strchr(")*+?}", last);
	char *end = NULL;
	unsigned long low, high;

	if (*s != '{')
		return nested && (*s == '*' || *s == '+') ? 2 : 1;
	low = high = strtoul(s + 1, &end, 10);
	if (*end == ',')
		high = strtoul(end + 1, &end, 10);
	low = OP_MAX(low, high);
	if (nested && end[-1] == ',')
		low = OP_MAX(low, 2UL);
	return OP_MIN(OP_MAX(low, 1UL), PATTERN_REPEAT_MAX + 1UL);
}

/* Refuse expressions whose matching time is not linear in the length of the name, and
 * expressions that would mean something else inside of parentheses. */
static int check(const char *s, char why[PATTERN_WHY_BYTES])
{
	unsigned long repeats = 1;
	size_t depth = 0;
	char last = 0; /* 0: it stands for itself */

	if (strlen(s) > PATTERN_BYTES_MAX)
		return say(why, "it is too long");
	while (*s) {
		if (*s == '[') {
			s += bracket_len(s);
			last = 0;
			continue;
		}
		if (*s == '\\' && isdigit((unsigned char)s[1]))
			return say(why, "it refers back to a part of itself");
		/* as if the bounds were nested */
		repeats *= repeats_at(s, last);
		if (repeats > PATTERN_REPEAT_MAX)
			return say(why, "it repeats something too often");
		if (*s == ')' && !depth--)
			return say(why, "there is a ) without a (");
		depth += *s == '(';
		last = *s == '\\' ? 0 : *s;
		s += *s == '\\' && s[1] ? 2 : 1;
	}
	return 0;
}

/* With a start that matches anything, one pass over a name finds a match at any place. */
static int compile(struct expression *e, const char *text, char why[PATTERN_WHY_BYTES])
{
	_cleanup_free_ char *whole = NULL;
	int r;

	/* first without parentheses, which may hide a mistake */
	r = regcomp(&e->regex, text, REG_EXTENDED | REG_NOSUB);
	if (!r) {
		regfree(&e->regex);
		if (asprintf(&whole, "^.*(%s)", text) < 0) {
			whole = NULL;
			return -ENOMEM;
		}
		r = regcomp(&e->regex, whole, REG_EXTENDED | REG_NOSUB);
	}
	if (!r)
		return 0;
	(void)regerror(r, &e->regex, why, PATTERN_WHY_BYTES);
	return r == REG_ESPACE ? -ENOMEM : -EINVAL;
}

static int new_pattern(struct pattern **ret)
{
	struct pattern *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	if (op_strings_init(&p->names, op_hash_seed())) {
		(void)pattern_free(p);
		return -ENOMEM;
	}
	*ret = p;
	return 0;
}

int pattern_add(struct pattern **p, const char *text, char why[PATTERN_WHY_BYTES])
{
	struct expression e = { 0 };
	int r;

	if (!*text)
		return say(why, "it is empty");
	r = check(text, why);
	if (!r && !*p)
		r = new_pattern(p);
	if (!r && (*p)->len == PATTERNS_MAX)
		r = say(why, "there are too many");
	if (!r)
		r = compile(&e, text, why);
	if (r)
		return r;
	e.text = strdup(text);
	if (!e.text) {
		regfree(&e.regex);
		return -ENOMEM;
	}
	(*p)->of[(*p)->len++] = e;
	return 0;
}

static bool match(const struct pattern *p, struct otlp_text name)
{
	char shown[PATTERN_NAME_BYTES];
	size_t i;

	(void)op_text_show(name.data, name.len, shown, sizeof(shown));
	for (i = 0; i < p->len; i++) {
		if (strstr(shown, p->of[i].text) ||
		    regexec(&p->of[i].regex, shown, 0, NULL, 0) == 0)
			return true;
	}
	return false;
}

int pattern_matches(struct pattern *p, struct otlp_text name)
{
	uint32_t number;
	uint8_t *answer;

	if (!name.len)
		return 0;
	if (op_strings_add(&p->names, name, &number))
		return -ENOMEM;
	while (p->answers.len <= number) {
		answer = op_vec_push(&p->answers);
		if (!answer)
			return -ENOMEM;
		*answer = UNKNOWN;
	}
	answer = &p->answers.data[number];
	if (*answer == UNKNOWN)
		*answer = match(p, name) ? YES : NO;
	return *answer == YES;
}

int pattern_matches_frame(struct pattern *p, struct otlp_text function,
			  struct otlp_text module, struct otlp_text file)
{
	int r = pattern_matches(p, function);

	if (!r)
		r = pattern_matches(p, otlp_base_name(module));
	return r ? r : pattern_matches(p, otlp_base_name(file));
}
