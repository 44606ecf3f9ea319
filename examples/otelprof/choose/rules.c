/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the options that choose processes into rules of the library's filter. */
#include "choose/rules.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COMM_MAX = 15
};

static int add_rule(struct options *o, struct otelprof_filter_rule rule)
{
	size_t at = o->rules_len;

	if (o->rules_len == OTELPROF_FILTER_RULES) {
		(void)fail(
			"at most %d options that choose or --exclude processes can be given",
			OTELPROF_FILTER_RULES);
		return usage_hint(o->command);
	}
	/* The first matching rule decides, so rules that exclude come before those that
	 * include. */
	if (rule.action == OTELPROF_FILTER_EXCLUDE) {
		at = o->rules_len - o->includes;
		memmove(&o->rules[at + 1], &o->rules[at], o->includes * sizeof(rule));
	} else {
		o->includes++;
	}
	rule.size = sizeof(rule);
	o->rules[at] = rule;
	o->rules_len++;
	return 0;
}

int options_include(struct options *o, uint32_t kind, uint64_t number, const char *text)
{
	return add_rule(o, (struct otelprof_filter_rule){
				   .kind = kind, .number = number, .text = text });
}

/* The library takes paths below the mount, but users paste the paths of their shell. */
static const char *below_mount(const char *path)
{
	static const char mount[] = "/sys/fs/cgroup";

	if (strncmp(path, mount, sizeof(mount) - 1) != 0 ||
	    (path[sizeof(mount) - 1] && path[sizeof(mount) - 1] != '/'))
		return path;
	path += sizeof(mount) - 1;
	return *path ? path : "/";
}

/* Make a rule for a process. It must exist, so that a typing error is reported
 * at once. */
static int pid_rule(struct options *o, const char *option, const char *arg,
		    struct otelprof_filter_rule *rule)
{
	long long n = 0;
	int r = parse_number(o->command, option, arg, 1, INT_MAX, &n);

	if (r)
		return r;
	if (rule->action == OTELPROF_FILTER_INCLUDE && kill((pid_t)n, 0) < 0 &&
	    errno == ESRCH)
		return fail("there is no process %lld", n);
	rule->number = (uint64_t)n;
	return add_rule(o, *rule);
}

static int user_rule(struct options *o, const char *option, const char *arg,
		     struct otelprof_filter_rule *rule)
{
	const struct passwd *pw = getpwnam(arg);
	long long n = pw ? (long long)pw->pw_uid : 0;
	int r = 0;

	if (!pw && *arg >= '0' && *arg <= '9')
		r = parse_number(o->command, option, arg, 0, UINT32_MAX - 1, &n);
	else if (!pw)
		return fail("there is no user \"%s\"", arg);
	rule->number = (uint64_t)n;
	return r ? r : add_rule(o, *rule);
}

static int comm_rule(struct options *o, const char *option, const char *arg,
		     struct otelprof_filter_rule *rule)
{
	if (!*arg || strlen(arg) > COMM_MAX) {
		(void)fail("%s takes 1 to %d bytes: the kernel keeps no more", option,
			   COMM_MAX);
		return usage_hint(o->command);
	}
	rule->text = arg;
	return add_rule(o, *rule);
}

static int cgroup_rule(struct options *o, const char *option, const char *arg,
		       struct otelprof_filter_rule *rule)
{
	(void)option;
	rule->text = below_mount(arg);
	return add_rule(o, *rule);
}

/* The library looks for it. */
static int group_rule(struct options *o, const char *option, const char *arg,
		      struct otelprof_filter_rule *rule)
{
	if (!*arg) {
		(void)fail("%s needs a text", option);
		return usage_hint(o->command);
	}
	rule->text = arg;
	return add_rule(o, *rule);
}

static const struct {
	const char *name;
	uint32_t kind;
	int option;
	int (*take)(struct options *o, const char *option, const char *arg,
		    struct otelprof_filter_rule *rule);
} subjects[] = {
	{ "pid", OTELPROF_FILTER_PID, 'p', pid_rule },
	{ "tree", OTELPROF_FILTER_PID_TREE, OPTION_TREE, pid_rule },
	{ "user", OTELPROF_FILTER_UID, OPTION_USER, user_rule },
	{ "cgroup", OTELPROF_FILTER_CGROUP, OPTION_CGROUP, cgroup_rule },
	{ "container", OTELPROF_FILTER_CONTAINER, OPTION_CONTAINER, group_rule },
	{ "pod", OTELPROF_FILTER_POD, OPTION_POD, group_rule },
	{ "comm", OTELPROF_FILTER_COMM, OPTION_COMM, comm_rule },
};
enum {
	SUBJECTS = sizeof(subjects) / sizeof(subjects[0])
};

/* Parse "pid=7". */
int rules_exclude(struct options *o, const char *arg)
{
	struct otelprof_filter_rule rule = { .action = OTELPROF_FILTER_EXCLUDE };
	size_t len = strcspn(arg, "="), i;

	for (i = 0; arg[len] && i < SUBJECTS; i++) {
		if (strlen(subjects[i].name) == len &&
		    strncmp(subjects[i].name, arg, len) == 0) {
			rule.kind = subjects[i].kind;
			return subjects[i].take(o, "--exclude", arg + len + 1, &rule);
		}
	}
	(void)fail("--exclude takes pid=N, tree=N, user=USER, cgroup=PATH, container=ID, "
		   "pod=UID or comm=NAME, not \"%s\"",
		   arg);
	return usage_hint(o->command);
}

int rules_take(struct options *o, int c, const char *arg)
{
	struct otelprof_filter_rule rule = { .action = OTELPROF_FILTER_INCLUDE };
	char option[16];
	size_t i;

	for (i = 0; i < SUBJECTS; i++) {
		if (subjects[i].option != c)
			continue;
		(void)snprintf(option, sizeof(option), c == 'p' ? "-%.1s" : "--%s",
			       subjects[i].name);
		rule.kind = subjects[i].kind;
		return subjects[i].take(o, option, arg, &rule);
	}
	return usage_hint(o->command);
}
