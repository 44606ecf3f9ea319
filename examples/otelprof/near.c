/* SPDX-License-Identifier: Apache-2.0 */
#include "near.h"

#include <string.h>

#include "common.h"
#include "recording/tree/missing.h"

static size_t apart(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);

	return n > m ? n - m : m - n;
}

const char *near_name(const char *wanted, near_fn fn, const void *names)
{
	struct suggestions n = { .wanted = wanted };
	const char *best = NULL, *name;
	size_t i;

	for (i = 0; fn(names, i); i++)
		suggestions_add(&n, (uint32_t)i, fn(names, i), 0);
	/* Of equally similar words, the one with the same length: "offcpu" is off_cpu,
	 * and not cpu. */
	for (i = 0; i < n.nearest_len && n.nearest[i].distance == n.nearest[0].distance;
	     i++) {
		name = fn(names, n.nearest[i].label);
		if (!best || apart(name, wanted) < apart(best, wanted))
			best = name;
	}
	return best;
}

static const char *option_name(const void *longs, size_t i)
{
	return ((const struct option *)longs)[i].name;
}

int near_option(const char *command, const char *arg, const struct option *longs)
{
	char wanted[SUGGESTION_BYTES];
	const char *found;

	if (arg && strncmp(arg, "--", 2) == 0) {
		(void)snprintf(wanted, sizeof(wanted), "%.*s", (int)strcspn(arg + 2, "="),
			       arg + 2);
		found = near_name(wanted, option_name, longs);
		if (found && strcmp(found, wanted) != 0)
			note("did you mean --%s?", found);
	}
	return usage_hint(command);
}
