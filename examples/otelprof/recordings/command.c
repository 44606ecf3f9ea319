/* SPDX-License-Identifier: Apache-2.0 */
#include "recordings/command.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROWS_MAX = 1000000,
	MEMORY_MAX_MIB = 1 << 20,
	MIB_SHIFT = 20,
};

int percent_parse(const char *command, const char *option, const char *arg, double *ret)
{
	char *end = NULL;
	double v = strtod(arg, &end);

	if (end == arg || *end || !isfinite(v) || v < 0 || v > 100) {
		(void)fail("%s takes a number from 0 to 100, not \"%s\"", option, arg);
		return usage_hint(command);
	}
	*ret = v;
	return 0;
}

int rows_parse(const char *command, const char *arg, long long *ret)
{
	if (*arg < '0' || *arg > '9') {
		(void)fail(
			"-n, --rows takes a number, not \"%s\"; source lines are shown "
			"by themselves",
			arg);
		return usage_hint(command);
	}
	return parse_number(command, "-n", arg, 1, ROWS_MAX, ret);
}

int lines_take(const char *command, int c, const char *arg, struct recording_lines *ret)
{
	struct lines_request *q = &ret->request;
	long long n = 0;
	int r;

	switch (c) {
	case OPTION_SYMBOLS:
		q->directory = arg;
		ret->told = true;
		return 0;
	case OPTION_LINES_TIME:
		return parse_seconds(command, "--lines-time", arg, &q->seconds);
	case OPTION_LINES_MEMORY:
		r = parse_number(command, "--lines-memory", arg, 1, MEMORY_MAX_MIB, &n);
		q->memory = (uint64_t)n << MIB_SHIFT;
		return r;
	case OPTION_LINES_CACHE:
		q->cache = arg;
		return 0;
	case OPTION_NO_LINES_CACHE:
		q->no_cache = true;
		return 0;
	default:
		return usage_hint(command);
	}
}

int end_output(void)
{
	return fflush(stdout) == 0 && !ferror(stdout)
		       ? STATUS_OK
		       : fail("cannot write: %s", strerror(errno));
}
