/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options that choose samples. */
#include "recordings/filters.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>

#include "base/macros.h"
#include "recordings/command.h"

static const struct {
	int value;
	const char *option; /* as in the help */
	const char *tells;
} table[] = {
	{ FILTER_OPTION_KIND, "    --kind KIND",
	  "one kind of samples, where there are several" },
	{ 'p', "-p, --pid PID", "only this process" },
	{ FILTER_OPTION_PROGRAM, "    --program NAME", "only processes of this name" },
	{ FILTER_OPTION_THREAD, "    --thread NAME",
	  "only threads of this name or number" },
	{ FILTER_OPTION_CONTAINER, "    --container ID",
	  "only this container, by the first digits of its id or by name" },
	{ FILTER_OPTION_POD, "    --pod UID", "only this pod of Kubernetes" },
	{ FILTER_OPTION_USER, "    --user USER",
	  "only processes of this user, by name or number" },
	{ FILTER_OPTION_CGROUP, "    --cgroup PATH",
	  "only this control group and those below it" },
	{ FILTER_OPTION_FOCUS, "    --focus REGEX",
	  "only stacks with a frame whose function, module or source file matches" },
	{ FILTER_OPTION_IGNORE, "    --ignore REGEX", "no stacks with such a frame" },
	{ FILTER_OPTION_HIDE, "    --hide REGEX", "all stacks, without such frames" },
	{ FILTER_OPTION_LABEL, "    --label K=V",
	  "only samples with this attribute, of their own or of their process" },
	{ FILTER_OPTION_TRACE, "    --trace ID",
	  "only this trace (or the first digits of its id)" },
	{ FILTER_OPTION_SPAN, "    --span ID", "only this span" },
	{ FILTER_OPTION_FROM, "    --from TIME",
	  "only from this time on: seconds after the start, or 14:30:05" },
	{ FILTER_OPTION_TO, "    --to TIME", "only before that time" },
};

static bool is_for(int option, enum filters_of of)
{
	switch (option) {
	case FILTER_OPTION_HIDE:
		return of == FILTERS_VIEWS;
	case 'p':
	case FILTER_OPTION_CONTAINER:
	case FILTER_OPTION_POD:
	case FILTER_OPTION_USER:
	case FILTER_OPTION_CGROUP:
	case FILTER_OPTION_FROM:
	case FILTER_OPTION_TO:
		return of != FILTERS_LIVE;
	default:
		return true;
	}
}

void filters_help(FILE *f, int indent, enum filters_of of)
{
	size_t i;
	int column;

	for (i = 0; i < OP_ARRAY_SIZE(table); i++) {
		if (!is_for(table[i].value, of))
			continue;
		column = fprintf(f, "  %s", table[i].option);
		print_wrapped(f, table[i].tells, column, indent);
	}
}

static int refuse(const char *command, const char *option, const char *takes,
		  const char *arg)
{
	(void)fail("%s takes %s, not \"%s\"", option, takes, arg);
	return usage_hint(command);
}

static int take_label(const char *command, const char *arg, struct filter *f)
{
	const char *equals = strchr(arg, '=');

	if (!equals || equals == arg)
		return refuse(command, "--label", "KEY=VALUE", arg);
	if (f->labels_len == FILTER_LABELS_MAX) {
		(void)fail("--label is given more than %d times", FILTER_LABELS_MAX);
		return usage_hint(command);
	}
	f->labels[f->labels_len++] = arg;
	return 0;
}

/* Take an option as a label, whose text goes to @buf. */
static int take_as_label(const char *command, const char *key, const char *value,
			 char buf[FILTER_LABEL_BYTES], struct filter *f)
{
	bool given = *buf;

	if (snprintf(buf, FILTER_LABEL_BYTES, "%s=%s", key, value) >= FILTER_LABEL_BYTES)
		return refuse(command, key, "a shorter name", value);
	return given ? 0 : take_label(command, buf, f);
}

static int take_user(const char *command, const char *arg, struct filter *f)
{
	const struct passwd *pw = getpwnam(arg);
	char number[24];

	if (!pw && (*arg < '0' || *arg > '9'))
		return fail("there is no user \"%s\" here; a number will do", arg);
	if (pw)
		(void)snprintf(number, sizeof(number), "%u", (unsigned int)pw->pw_uid);
	return take_as_label(command, "process.real_user.id", pw ? number : arg, f->user,
			     f);
}

/* A path below the mount of control groups names the same group as in `record`. */
static int take_cgroup(const char *command, const char *arg, struct filter *f)
{
	static const char *const mounts[] = { "/sys/fs/cgroup/unified",
					      "/sys/fs/cgroup" };
	size_t i, len;

	for (i = 0; i < OP_ARRAY_SIZE(mounts); i++) {
		len = strlen(mounts[i]);
		if (strncmp(arg, mounts[i], len) == 0 && (!arg[len] || arg[len] == '/')) {
			arg += len;
			break;
		}
	}
	if (*arg != '/' && *arg)
		return refuse(command, "--cgroup", "a path", arg);
	f->cgroup = arg;
	return 0;
}

static int take_frames(const char *command, enum filter_frames what, const char *arg,
		       struct filter *f)
{
	static const char *const options[] = { "--focus", "--ignore", "--hide" };
	char why[PATTERN_WHY_BYTES];
	int r = pattern_add(&f->frames[what], arg, why);

	if (!r)
		return 0;
	if (r == -ENOMEM)
		return fail("out of memory");
	(void)fail("%s takes a regular expression, not \"%s\": %s", options[what], arg,
		   why);
	return usage_hint(command);
}

static int take_id(const char *command, int c, const char *arg, struct filter *f)
{
	bool trace = c == FILTER_OPTION_TRACE;

	if (!filter_is_id(arg, trace ? FILTER_TRACE_DIGITS : FILTER_SPAN_DIGITS))
		return refuse(command, trace ? "--trace" : "--span",
			      trace ? "up to 32 hexadecimal digits in lower case"
				    : "up to 16 hexadecimal digits in lower case",
			      arg);
	*(trace ? &f->trace : &f->span) = arg;
	return 0;
}

static int take_time(const char *command, int c, const char *arg, struct filter *f)
{
	bool from = c == FILTER_OPTION_FROM;

	if (filter_time_parse(arg, from ? &f->from : &f->to))
		return refuse(command, from ? "--from" : "--to",
			      "seconds since the start, or a time such as 14:30:05", arg);
	return 0;
}

static int take_owner(const char *command, enum filter_owner of, const char *option,
		      const char *arg, struct filter *f)
{
	if (!*arg) {
		(void)fail("%s takes a name", option);
		return usage_hint(command);
	}
	f->owners[of] = arg;
	return 0;
}

int filters_take(const char *command, int c, const char *arg, struct filter *f)
{
	long long n = 0;

	switch (c) {
	case FILTER_OPTION_KIND:
		f->kind = arg;
		return 0;
	case 'p':
		f->owners[FILTER_PID] = arg;
		return parse_number(command, "-p", arg, 0, INT_MAX, &n);
	case FILTER_OPTION_PROGRAM:
		return take_owner(command, FILTER_PROGRAM, "--program", arg, f);
	case FILTER_OPTION_THREAD:
		return take_owner(command, FILTER_THREAD, "--thread", arg, f);
	case FILTER_OPTION_CONTAINER:
		return take_owner(command, FILTER_CONTAINER, "--container", arg, f);
	case FILTER_OPTION_POD:
		return take_as_label(command, "k8s.pod.uid", arg, f->pod, f);
	case FILTER_OPTION_USER:
		return take_user(command, arg, f);
	case FILTER_OPTION_CGROUP:
		return take_cgroup(command, arg, f);
	case FILTER_OPTION_FOCUS:
	case FILTER_OPTION_IGNORE:
	case FILTER_OPTION_HIDE:
		return take_frames(command, (enum filter_frames)(c - FILTER_OPTION_FOCUS),
				   arg, f);
	case FILTER_OPTION_LABEL:
		return take_label(command, arg, f);
	case FILTER_OPTION_TRACE:
	case FILTER_OPTION_SPAN:
		return take_id(command, c, arg, f);
	case FILTER_OPTION_FROM:
	case FILTER_OPTION_TO:
		return take_time(command, c, arg, f);
	default:
		return usage_hint(command);
	}
}

int filters_for_requests(const char *command, const struct filter *f)
{
	if (!f->frames[FILTER_HIDE])
		return 0;
	(void)fail(
		"--hide is not for OTLP, whose stacks are written as they were recorded");
	return usage_hint(command);
}

bool filters_has(int c)
{
	return c == 'p' || (c >= FILTER_OPTION_KIND && c < FILTER_OPTION_END);
}

const struct filter *filters_any(const struct filter *f)
{
	return filter_has_samples(f) || filter_has_frames(f) ? f : NULL;
}

struct filter filters_for_view(const struct filter *f, struct view_request *request)
{
	struct filter rest = *f;
	size_t i;

	request->kind = f->kind;
	rest.kind = NULL;
	for (i = 0; i < FILTER_OWNERS; i++) {
		request->filters[i] = f->owners[i];
		rest.owners[i] = NULL;
	}
	return rest;
}
