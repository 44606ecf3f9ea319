/* SPDX-License-Identifier: Apache-2.0 */
/* The summary that record prints at its end: where the time went, in five lines, and how
 * good the profile is. */
#ifndef OTELPROF_SUMMARY_H
#define OTELPROF_SUMMARY_H

#include <otelprof/otelprof.h>

#include "recording/read/functions.h"

struct summary {
	struct function_sums sums;
	struct quality quality;
	double start; /* seconds */
};

/*
 * Look at every request of @p without accepting it, so that the other exporters decide
 * what becomes of its samples. @s must live as long as @p. Returns 0 or a negative errno.
 */
int summary_watch(struct summary *s, struct otelprof *p);
/* Print the summary on stderr: functions if there are CPU samples, then the quality. */
void summary_print(struct summary *s, struct otelprof *p);
void summary_clear(struct summary *s);

#endif
