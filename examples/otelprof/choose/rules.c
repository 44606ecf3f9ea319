/* SPDX-License-Identifier: Apache-2.0 */
/* Makes rules from the options that choose processes, in the form of the library's key. */
#include "choose/rules.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parse the rule of the two texts, and insert it at @at. */
static int insert(struct options *o, size_t at, const char *begin, const char *rest)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof_settings *settings = NULL;
	struct otelprof_rule rule = { 0 };
	char *line = NULL;
	size_t len = 0;
	int r = otelprof_settings_new(&settings);

	if (r == 0 && asprintf(&line, "%s%s", begin, rest) < 0)
		r = -ENOMEM;
	if (r == 0)
		r = otelprof_settings_set(settings, "rules", line, &why);
	free(line);
	if (r == 0 && otelprof_settings_get_rules(settings, &len) && len) {
		rule = *otelprof_settings_get_rules(settings, &len);
		rule.text = rule.text ? strdup(rule.text) : NULL;
	}
	(void)otelprof_settings_free(settings);
	if (r == -ENOMEM)
		return fail("out of memory");
	if (!len || o->rules_len == OPTION_RULES_MAX) {
		(void)fail("%s",
			   o->rules_len == OPTION_RULES_MAX
				   ? "there are too many options that choose processes"
			   : r < 0 ? why.message
				   : "an option that chooses processes has no value");
		return usage_hint(o->command);
	}
	memmove(&o->rules[at + 1], &o->rules[at], (o->rules_len - at) * sizeof(rule));
	o->rules[at] = rule;
	o->rules_len++;
	return 0;
}

static int include(struct options *o, const char *target, const char *value)
{
	char begin[32];
	int r;

	(void)snprintf(begin, sizeof(begin), "include %s:", target);
	r = insert(o, o->includes, begin, value);
	o->includes += !r;
	return r;
}

int rules_include_tree(struct options *o, pid_t pid)
{
	char number[24];

	(void)snprintf(number, sizeof(number), "%d", (int)pid);
	return include(o, "tree", number);
}

/* The process of a thread. @tid itself if it is one, or if that is not known. */
static pid_t process_of(pid_t tid)
{
	char path[64], line[128];
	int leader = (int)tid;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &leader) == 1)
			break;
	if (f)
		(void)fclose(f);
	return leader > 0 ? (pid_t)leader : tid;
}

/* The process must exist, so that a typing error is reported at once. */
static int include_process(struct options *o, const char *option, const char *target,
			   const char *arg)
{
	long long n = 0;
	char number[24];
	pid_t leader;
	int r = parse_number(o->command, option, arg, 1, INT_MAX, &n);

	if (r)
		return r;
	if (kill((pid_t)n, 0) < 0 && errno == ESRCH)
		return fail("there is no process %lld", n);
	leader = process_of((pid_t)n);
	if (leader == (pid_t)n)
		return include(o, target, arg);
	note("%lld is a thread of process %d, which is sampled; 'report --thread NAME' shows one",
	     n, (int)leader);
	(void)snprintf(number, sizeof(number), "%d", (int)leader);
	return include(o, target, number);
}

static int include_user(struct options *o, const char *arg)
{
	const struct passwd *pw = getpwnam(arg);
	char number[24];

	if (!pw && (*arg < '0' || *arg > '9'))
		return fail("there is no user \"%s\"", arg);
	if (pw)
		(void)snprintf(number, sizeof(number), "%u", (unsigned)pw->pw_uid);
	return include(o, "uid", pw ? number : arg);
}

void rules_clear(struct options *o)
{
	while (o->rules_len)
		free((char *)o->rules[--o->rules_len].text);
}

int rules_take(struct options *o, int c, const char *arg)
{
	switch (c) {
	case 'p':
		return include_process(o, "-p", "pid", arg);
	case OPTION_TREE:
		return include_process(o, "--tree", "tree", arg);
	case OPTION_USER:
		return include_user(o, arg);
	case OPTION_CGROUP:
		return include(o, "cgroup", arg);
	case OPTION_CONTAINER:
		return include(o, "container", arg);
	case OPTION_POD:
		return include(o, "pod", arg);
	case OPTION_COMM:
		return include(o, "comm", arg);
	case OPTION_EXCLUDE:
		return insert(o, o->rules_len, "exclude ", arg);
	case OPTION_RULE:
		return insert(o, o->rules_len, "", arg);
	default:
		return usage_hint(o->command);
	}
}

int rules_apply(const struct options *o, struct otelprof *p)
{
	uint64_t number;
	size_t i;

	for (i = 0; i < o->rules_len; i++) {
		int r = otelprof_add_rule(p, &o->rules[i], &number);

		if (r < 0)
			return fail_library(p, "cannot choose what to sample", r);
	}
	return o->rules_len || !o->settings ? 0 : rules_set(p, o->settings);
}

int rules_set(struct otelprof *p, const struct otelprof_settings *settings)
{
	size_t len = 0;
	const struct otelprof_rule *rules = otelprof_settings_get_rules(settings, &len);
	int r = otelprof_set_rules(p, rules, len);

	return r < 0 ? fail_library(p, "cannot set the rules", r) : 0;
}
