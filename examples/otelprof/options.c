/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the options of the commands that profile. */
#include "choose/rules.h"
#include "common.h"
#include "switches.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	RATE_MAX_HZ = 1000,
	BUDGET_MAX_PERCENT = 10000,
	ATTRIBUTES_MAX = 32
};
#define SECONDS_MAX 31536000.0 /* a year */

const char shared_help[] =
	"      --config FILE    keys as otelprof_settings_new(3) has them; the variable\n"
	"                       OTELPROF_KEY of each wins over it, an option over both\n"
	"  -d, --duration S     end after S seconds\n"
	"  -F, --frequency HZ   samples a second and CPU, 1 to 1000\n"
	"      --kinds LIST     what to take samples of, with commas: cpu (the default),\n"
	"                       page_faults, off_cpu, locks, kernel_locks, wakers,\n"
	"                       block_io, signals, wall, threads, goroutines, heap,\n"
	"                       probe:SPEC, perf:EVENT; --kind is the same\n"
	"      --cpu-budget PCT at most this share of one CPU; rate and names give way\n"
	"      --all-kernel     stacks of the kernel alone\n"
	"      --all-user       stacks of programs alone, without the kernel's frames\n"
	"      --idle           keep samples of CPUs with nothing to do\n"
	"      --wakers         off_cpu and locks tell who woke the thread\n"
	"      --await-chains   Python's tasks have the frames of those that await them\n"
	"      --max-frames N   of a program's stack, 16 to 1024 (1024)\n"
	"      --off-cpu-min US leave out shorter times off the CPUs\n"
	"      --no-runtime L   native frames alone: python, php, hotspot, node, jitdump\n"
	"      --no-native-names  the back end names native code\n"
	"      --memory-budget M  MiB of the kernel's memory for tables (64)\n"
	"      --symbol-budget M  MiB of memory for names (64)\n"
	"      --memory-limit M MiB of all memory: names, tables, processes give way\n"
	"      --layouts DIR    files NAME.layout for unknown versions of runtimes\n"
	"      --service-name NAME   for processes that set none\n"
	"      --attribute KEY=VALUE on every resource; may be repeated\n"
	"      --command-line   process.command_args on each resource; may be secret\n"
	"      --environment NAME    this variable of each process; may be repeated\n"
	"\n"
	"What to sample (several: any of them; none: every process):\n"
	"  -p, --pid PID        this process\n"
	"      --tree PID       this process and its descendants\n"
	"      --user USER      processes of this user, by name or number\n"
	"      --cgroup PATH    this control group and those below it\n"
	"      --container ID   this container, by the first digits of its id or by name\n"
	"      --pod UID        this pod of Kubernetes\n"
	"      --comm NAME      threads of this name (as ps -L -o comm shows it)\n"
	"      --exclude TARGET leave this out, as in --rule 'exclude TARGET'\n"
	"      --rule RULE      a rule, which may be repeated: include,\n"
	"                       exclude or rate, [HZ] [1/N], and all, pid:N, tree:N, uid:N,\n"
	"                       age:Ns, comm:NAME, cgroup:PATH, container:ID, pod:UID,\n"
	"                       exe:PATH or env:NAME[=VALUE]\n"
	"\n" RULES_SENTENCE "\n"
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

/* The names that --kinds accepts; the help text above lists them. */
static const struct {
	const char *name;
	const char *short_name;
	uint64_t bit;
} KINDS[] = {
	{ "cpu", "cpu", OTELPROF_KIND_CPU },
	{ "page_faults", "faults", OTELPROF_KIND_PAGE_FAULTS },
	{ "off_cpu", "offcpu", OTELPROF_KIND_OFF_CPU },
	{ "locks", "lock", OTELPROF_KIND_LOCKS },
	{ "kernel_locks", "kernel-locks", OTELPROF_KIND_KERNEL_LOCKS },
	{ "wakers", "waker", OTELPROF_KIND_WAKERS },
	{ "block_io", "block", OTELPROF_KIND_BLOCK_IO },
	{ "signals", "signals", OTELPROF_KIND_SIGNALS },
	{ "wall", "wall", OTELPROF_KIND_WALL },
	{ "threads", "threads", OTELPROF_KIND_THREADS },
	{ "goroutines", "goroutines", OTELPROF_KIND_GOROUTINES },
	{ "heap", "heap", OTELPROF_KIND_HEAP },
};

static bool is_name(const char *name, const char *text, size_t len)
{
	return strlen(name) == len && !strncmp(name, text, len);
}

/* Parse "probe:SPEC"; @spec is the part after the first colon. */
static int take_probe(struct options *o, const char *spec, size_t len)
{
	char *copy = strndup(spec, len);

	if (!copy)
		return fail("out of memory");
	if (o->probes_len == OTELPROF_PROBES_MAX) {
		free(copy);
		(void)fail("at most %d probes can be given", OTELPROF_PROBES_MAX);
		return usage_hint(o->command);
	}
	o->probes[o->probes_len++] = copy;
	o->kinds |= OTELPROF_KIND_PROBES;
	return 0;
}

static int take_kind(struct options *o, const char *name, size_t len)
{
	static const char probe[] = "probe:";
	static const char perf[] = "perf:";
	size_t i;

	if (len > sizeof(probe) - 1 && !strncmp(name, probe, sizeof(probe) - 1))
		return take_probe(o, name + sizeof(probe) - 1, len - sizeof(probe) + 1);
	if (len > sizeof(perf) - 1 && !strncmp(name, perf, sizeof(perf) - 1))
		return take_probe(o, name, len);
	for (i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
		if (is_name(KINDS[i].name, name, len) ||
		    is_name(KINDS[i].short_name, name, len)) {
			o->kinds |= KINDS[i].bit;
			return 0;
		}
	(void)fail(
		"--kinds takes cpu, page_faults, off_cpu, locks, kernel_locks, wakers, "
		"block_io, signals, wall, threads, goroutines, heap, probe:SPEC and perf:EVENT, not "
		"\"%.*s\"",
		(int)len, name);
	return usage_hint(o->command);
}

/* Parse a list of kinds, separated by commas. */
static int take_kinds(struct options *o, const char *list)
{
	int r = 0;

	for (; r == 0; list++) {
		size_t len = strcspn(list, ",");

		r = take_kind(o, list, len);
		list += len;
		if (!*list)
			break;
	}
	return r;
}

/* Parse "0.5" or "0.5%", which mean shares of one CPU. */
static int take_cpu_budget(struct options *o, const char *arg)
{
	char *end = NULL;
	double v = strtod(arg, &end);

	if (end != arg && *end == '%')
		end++;
	if (end == arg || *end || !(v >= 0.1 && v <= BUDGET_MAX_PERCENT)) {
		(void)fail("--cpu-budget takes 0.1 to %d per cent of one CPU, not \"%s\"",
			   BUDGET_MAX_PERCENT, arg);
		return usage_hint(o->command);
	}
	o->cpu_budget_permille = (uint32_t)lround(v * 10);
	return 0;
}

/* Parse "KEY=VALUE". */
static int take_attribute(struct options *o, const char *arg)
{
	static struct otelprof_attribute attributes[ATTRIBUTES_MAX];
	const char *equals = strchr(arg, '=');
	char *key;

	if (!equals || equals == arg) {
		(void)fail("--attribute takes KEY=VALUE, not \"%s\"", arg);
		return usage_hint(o->command);
	}
	if (o->attributes_len == ATTRIBUTES_MAX) {
		(void)fail("at most %d attributes can be given", ATTRIBUTES_MAX);
		return usage_hint(o->command);
	}
	key = strndup(arg, (size_t)(equals - arg));
	if (!key)
		return fail("out of memory");
	attributes[o->attributes_len++] =
		(struct otelprof_attribute){ .key = key, .value = equals + 1 };
	o->attributes = attributes;
	return 0;
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
		if (!r) {
			o->rate_hz = (uint32_t)n;
			o->rate_given = true;
		}
		return r;
	case OPTION_KINDS:
		return take_kinds(o, arg);
	case OPTION_CONFIG:
		o->config_path = arg;
		return 0;
	case OPTION_LAYOUTS:
		o->layouts_dir = arg;
		return 0;
	case OPTION_CPU_BUDGET:
		return take_cpu_budget(o, arg);
	case OPTION_SERVICE_NAME:
		o->service_name = arg;
		return 0;
	case OPTION_ATTRIBUTE:
		return take_attribute(o, arg);
	default:
		r = switches_take(o, c, arg);
		return r < 0 ? rules_take(o, c, arg) : r;
	}
}
