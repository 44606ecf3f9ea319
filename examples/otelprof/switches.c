/* SPDX-License-Identifier: Apache-2.0 */
/* Parses these options; the library checks what only it can know. */
#include "switches.h"

#include <string.h>

#include "base/macros.h"

enum {
	FRAMES_MIN = 16,
	FRAMES_MAX = 1024,
	BUDGET_MAX_MIB = 1 << 20,
	MIB_SHIFT = 20,
	OFF_CPU_MAX_US = 1000000000,
};

static const struct {
	const char *name;
	uint64_t bit;
} runtimes[] = {
	{ "python", OTELPROF_RUNTIME_PYTHON },	 { "php", OTELPROF_RUNTIME_PHP },
	{ "hotspot", OTELPROF_RUNTIME_HOTSPOT }, { "node", OTELPROF_RUNTIME_NODE },
	{ "jitdump", OTELPROF_RUNTIME_JITDUMP },
};
enum {
	RUNTIMES = sizeof(runtimes) / sizeof(runtimes[0])
};

static int take_flag(struct options *o, uint64_t flag)
{
	const uint64_t both = OTELPROF_NO_KERNEL_STACKS | OTELPROF_NO_USER_STACKS;

	o->flags |= flag;
	if ((o->flags & both) != both)
		return 0;
	(void)fail("--all-kernel and --all-user together leave no frames");
	return usage_hint(o->command);
}

/* Parse a list of runtimes, separated by commas. */
static int take_runtimes(struct options *o, const char *list)
{
	size_t len, i;

	for (;; list += len + 1) {
		len = strcspn(list, ",");
		for (i = 0; i < RUNTIMES; i++) {
			if (strlen(runtimes[i].name) == len &&
			    strncmp(runtimes[i].name, list, len) == 0)
				break;
		}
		if (i == RUNTIMES) {
			(void)fail("--no-runtime takes python, php, hotspot, node and "
				   "jitdump, not \"%.*s\"",
				   (int)len, list);
			return usage_hint(o->command);
		}
		o->runtimes_off |= runtimes[i].bit;
		if (!list[len])
			return 0;
	}
}

static int take_budget(const struct options *o, const char *option, const char *arg,
		       uint64_t *ret)
{
	long long n = 0;
	int r = parse_number(o->command, option, arg, 1, BUDGET_MAX_MIB, &n);

	*ret = (uint64_t)n << MIB_SHIFT;
	return r;
}

static int take_environment(struct options *o, const char *name)
{
	if (!*name || strchr(name, '=') ||
	    o->environment_len == OTELPROF_ENVIRONMENT_MAX) {
		(void)fail("--environment takes the name of a variable, at most %d times",
			   OTELPROF_ENVIRONMENT_MAX);
		return usage_hint(o->command);
	}
	o->environment[o->environment_len++] = name;
	return 0;
}

static int take_number(struct options *o, int c, const char *arg)
{
	long long n = 0;
	int r;

	if (c == OPTION_MAX_FRAMES) {
		r = parse_number(o->command, "--max-frames", arg, FRAMES_MIN, FRAMES_MAX,
				 &n);
		o->max_frames = (uint32_t)n;
	} else {
		r = parse_number(o->command, "--off-cpu-min", arg, 0, OFF_CPU_MAX_US, &n);
		o->off_cpu_min_ns = (uint64_t)n * OP_NS_PER_US;
	}
	return r;
}

int switches_take(struct options *o, int c, const char *arg)
{
	switch (c) {
	case OPTION_ALL_KERNEL:
		return take_flag(o, OTELPROF_NO_USER_STACKS);
	case OPTION_ALL_USER:
		return take_flag(o, OTELPROF_NO_KERNEL_STACKS);
	case OPTION_IDLE:
		return take_flag(o, OTELPROF_IDLE);
	case OPTION_WAKERS:
		return take_flag(o, OTELPROF_WAKERS);
	case OPTION_AWAIT_CHAINS:
		return take_flag(o, OTELPROF_AWAIT_CHAINS);
	case OPTION_NO_NATIVE_NAMES:
		return take_flag(o, OTELPROF_NO_NATIVE_NAMES);
	case OPTION_COMMAND_LINE:
		return take_flag(o, OTELPROF_COMMAND_LINE);
	case OPTION_NO_RUNTIME:
		return take_runtimes(o, arg);
	case OPTION_MEMORY_BUDGET:
		return take_budget(o, "--memory-budget", arg, &o->memory_budget_bytes);
	case OPTION_SYMBOL_BUDGET:
		return take_budget(o, "--symbol-budget", arg, &o->symbol_budget_bytes);
	case OPTION_MEMORY_LIMIT:
		return take_budget(o, "--memory-limit", arg, &o->memory_limit_bytes);
	case OPTION_ENVIRONMENT:
		return take_environment(o, arg);
	case OPTION_MAX_FRAMES:
	case OPTION_OFF_CPU_MIN:
		return take_number(o, c, arg);
	default:
		return -1;
	}
}

void switches_apply(const struct options *o, struct otelprof_config *config)
{
	config->flags |= o->flags;
	config->runtimes_off |= o->runtimes_off;
	if (o->off_cpu_min_ns)
		config->off_cpu_min_ns = o->off_cpu_min_ns;
	if (o->memory_budget_bytes)
		config->memory_budget_bytes = o->memory_budget_bytes;
	if (o->symbol_budget_bytes)
		config->symbol_budget_bytes = o->symbol_budget_bytes;
	if (o->memory_limit_bytes)
		config->memory_limit_bytes = o->memory_limit_bytes;
	if (o->max_frames)
		config->max_frames = o->max_frames;
	if (o->environment_len) {
		config->environment = o->environment;
		config->environment_len = o->environment_len;
	}
}
