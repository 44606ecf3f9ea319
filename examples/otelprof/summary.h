/* SPDX-License-Identifier: Apache-2.0 */
/* What record says at its end: where the time went, in five lines, and how good the profile is. */
#ifndef OTELPROF_SUMMARY_H
#define OTELPROF_SUMMARY_H

#include <otelprof/otelprof.h>

#include "top/functions.h"

struct summary {
	struct function_sums sums;
	double start; /* seconds */
};

/* See every request of @p without taking it: what became of a sample is decided by the other
 * exporters. @s must live as long as @p. Returns 0 or a negative errno. */
int summary_watch(struct summary *s, struct otelprof *p);
/* Print it on stderr; nothing where there was no CPU sample. */
void summary_print(struct summary *s, struct otelprof *p);
void summary_clear(struct summary *s);

#endif
