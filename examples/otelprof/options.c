/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the commands that profile. */
#include "common.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	RATE_MAX_HZ = 1000,
	COMM_MAX = 15
};
#define SECONDS_MAX 31536000.0 /* a year */

const char shared_help[] =
	"  -d, --duration S     end after S seconds\n"
	"  -F, --frequency HZ   samples a second and CPU, 1 to 1000\n"
	"      --kinds LIST     of cpu and page_faults, with commas (cpu)\n"
	"      --layouts DIR    files NAME.layout for versions of runtimes that are not known\n"
	"\n"
	"What to sample (several: any of them; none: every process):\n"
	"  -p, --pid PID        this process\n"
	"      --cgroup PATH    this control group and those below it\n"
	"      --comm NAME      threads of this name (as ps -L -o comm shows it)\n"
	"\n"
	"  -v, --verbose        say more on stderr; twice: everything\n"
	"  -h, --help           show this text\n";

int parse_number(const char *command, const char *option, const char *arg, long long min,
		 long long max, long long *ret)
{
	const char *why = NULL;
	long long n = strtonum(arg, min, max, &why);

	if (why) {
		(void)fail("%s takes a number from %lld to %lld, not \"%s\"", option, min,
			   max, arg);
		return usage_hint(command);
	}
	*ret = n;
	return 0;
}

int parse_seconds(const char *command, const char *option, const char *arg, double *ret)
{
	char *end = NULL;
	double v = strtod(arg, &end);

	if (end == arg || *end || !isfinite(v) || v <= 0 || v > SECONDS_MAX) {
		(void)fail("%s takes a number of seconds above 0, not \"%s\"", option,
			   arg);
		return usage_hint(command);
	}
	*ret = v;
	return 0;
}

int options_include(struct options *o, uint32_t kind, uint64_t number, const char *text)
{
	if (o->rules_len == OTELPROF_FILTER_RULES) {
		(void)fail("at most %d of -p, --cgroup and --comm",
			   OTELPROF_FILTER_RULES);
		return usage_hint(o->command);
	}
	o->rules[o->rules_len++] = (struct otelprof_filter_rule){
		.size = sizeof(struct otelprof_filter_rule),
		.kind = kind,
		.action = OTELPROF_FILTER_INCLUDE,
		.number = number,
		.text = text,
	};
	return 0;
}

/* The library takes paths below the mount; users paste what they see in a shell. */
static const char *below_mount(const char *path)
{
	static const char mount[] = "/sys/fs/cgroup";

	if (strncmp(path, mount, sizeof(mount) - 1) != 0 ||
	    (path[sizeof(mount) - 1] && path[sizeof(mount) - 1] != '/'))
		return path;
	path += sizeof(mount) - 1;
	return *path ? path : "/";
}

/* A list of kinds, with commas. */
static int take_kinds(struct options *o, const char *list)
{
	static const struct {
		const char *name;
		uint64_t bit;
	} kinds[] = { { "cpu", OTELPROF_KIND_CPU },
		      { "page_faults", OTELPROF_KIND_PAGE_FAULTS } };
	size_t i;

	for (o->kinds = 0;; list++) {
		size_t len = strcspn(list, ",");

		for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (strlen(kinds[i].name) == len &&
			    !strncmp(kinds[i].name, list, len))
				break;
		if (i == sizeof(kinds) / sizeof(kinds[0])) {
			(void)fail("--kinds takes cpu and page_faults, not \"%.*s\"",
				   (int)len, list);
			return usage_hint(o->command);
		}
		o->kinds |= kinds[i].bit;
		list += len;
		if (!*list)
			return 0;
	}
}

int options_take(struct options *o, int c, const char *arg)
{
	long long n = 0;
	int r;

	switch (c) {
	case 'v':
		o->verbose++;
		return 0;
	case 'd':
		return parse_seconds(o->command, "-d", arg, &o->seconds);
	case 'F':
		r = parse_number(o->command, "-F", arg, 1, RATE_MAX_HZ, &n);
		if (!r)
			o->rate_hz = (uint32_t)n;
		return r;
	case 'p':
		r = parse_number(o->command, "-p", arg, 1, INT_MAX, &n);
		return r ? r : options_include(o, OTELPROF_FILTER_PID, (uint64_t)n, NULL);
	case OPTION_KINDS:
		return take_kinds(o, arg);
	case OPTION_LAYOUTS:
		o->layouts_dir = arg;
		return 0;
	case OPTION_CGROUP:
		return options_include(o, OTELPROF_FILTER_CGROUP, 0, below_mount(arg));
	case OPTION_COMM:
		if (!*arg || strlen(arg) > COMM_MAX) {
			(void)fail("--comm takes 1 to %d bytes: the kernel keeps no more",
				   COMM_MAX);
			return usage_hint(o->command);
		}
		return options_include(o, OTELPROF_FILTER_COMM, 0, arg);
	default:
		return usage_hint(o->command);
	}
}
