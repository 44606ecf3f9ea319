/* SPDX-License-Identifier: Apache-2.0 */
/* The names of perf's events, as in perf-list(1). */
#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "parts/probes/spec.h"

enum {
	HZ_DEFAULT = 99, /* rate of an event that is too frequent to sample each */
	HZ_MAX = 10000,
};

#define CACHE(which, result)                                                             \
	(PERF_COUNT_HW_CACHE_##which | PERF_COUNT_HW_CACHE_OP_READ << 8 |                \
	 PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
	bool each; /* each event is a sample unless a period is given */
	const char *unit;
} EVENTS[] = {
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, "count" },
	{ "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, "count" },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, false,
	  "count" },
	{ "bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, false, "count" },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false,
	  "count" },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, false,
	  "count" },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, false,
	  "count" },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false,
	  "count" },
	{ "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	  false, "count" },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, false,
	  "count" },
	{ "stalled-cycles-frontend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, false, "count" },
	{ "stalled-cycles-backend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_BACKEND, false, "count" },
	{ "L1-dcache-loads", PERF_TYPE_HW_CACHE, CACHE(L1D, ACCESS), false, "count" },
	{ "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, CACHE(L1D, MISS), false, "count" },
	{ "LLC-loads", PERF_TYPE_HW_CACHE, CACHE(LL, ACCESS), false, "count" },
	{ "LLC-load-misses", PERF_TYPE_HW_CACHE, CACHE(LL, MISS), false, "count" },
	{ "dTLB-load-misses", PERF_TYPE_HW_CACHE, CACHE(DTLB, MISS), false, "count" },
	{ "iTLB-load-misses", PERF_TYPE_HW_CACHE, CACHE(ITLB, MISS), false, "count" },
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, false,
	  "nanoseconds" },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false,
	  "nanoseconds" },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, true, "count" },
	{ "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, true, "count" },
	{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, true,
	  "count" },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, true,
	  "count" },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, true,
	  "count" },
	{ "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, true, "count" },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, true,
	  "count" },
	{ "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, true, "count" },
	{ "alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, true,
	  "count" },
	{ "emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS, true,
	  "count" },
};

/*
 * Parse "PERIOD" or "RATEhz". Events that the kernel itself counts are rare enough to
 * run the program at each one. At a rate the program keeps some of them and states what
 * they stand for. The kernel would find a period for the rate too late for bursts.
 */
static int take_period(const char *text, struct op_probe_event *ret)
{
	bool each = ret->period;
	unsigned long long n;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || !n || n > INT64_MAX)
		return -EINVAL;
	ret->period = 0;
	ret->hz = 0;
	if (!strcasecmp(end, "hz") && n <= HZ_MAX) {
		ret->period = each;
		*(each ? &ret->most : &ret->hz) = (uint32_t)n;
	} else if (!*end)
		ret->period = n;
	else
		return -EINVAL;
	return 0;
}

/* Parse "rHEX", the machine's own code. */
static int take_raw(const char *name, struct op_probe_event *ret)
{
	char *end;

	if (name[0] != 'r' || !isxdigit((unsigned char)name[1]))
		return -EINVAL;
	errno = 0;
	ret->type = PERF_TYPE_RAW;
	ret->config = strtoull(name + 1, &end, 16);
	ret->hz = HZ_DEFAULT;
	return errno || *end ? -EINVAL : 0;
}

static int take_name(const char *name, struct op_probe_spec *ret)
{
	size_t i;

	memcpy(ret->unit, "count", sizeof("count"));
	for (i = 0; i < OP_ARRAY_SIZE(EVENTS); i++)
		if (!strcmp(EVENTS[i].name, name)) {
			ret->event.type = EVENTS[i].type;
			ret->event.config = EVENTS[i].config;
			ret->event.period = EVENTS[i].each;
			ret->event.hz = EVENTS[i].each ? 0 : HZ_DEFAULT;
			memcpy(ret->unit, EVENTS[i].unit, strlen(EVENTS[i].unit) + 1);
			return 0;
		}
	return take_raw(name, &ret->event);
}

int op_probe_event_parse(char *text, struct op_probe_spec *ret)
{
	char *at = strchr(text, '@');
	size_t i;
	int r;

	if (at)
		*at = '\0';
	r = take_name(text, ret);
	if (r == 0 && at)
		r = take_period(at + 1, &ret->event);
	/* of the kernel's own events only the clocks are left here, which keep their
	 * period */
	if (r == 0 && ret->event.type == PERF_TYPE_SOFTWARE && ret->event.hz) {
		ret->event.period = OP_NS_PER_S / ret->event.hz;
		ret->event.hz = 0;
	}
	if (r < 0 || strlen(text) >= sizeof(ret->type_name))
		return -EINVAL;
	/* back ends accept letters, digits and underscores */
	for (i = 0; text[i]; i++)
		ret->type_name[i] = isalnum((unsigned char)text[i]) ? text[i] : '_';
	ret->type_name[i] = '\0';
	return 0;
}
