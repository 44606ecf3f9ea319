/* SPDX-License-Identifier: Apache-2.0 */
/* The summary that record prints at its end: where the time went, and how good the profile is. */
#ifndef OTELPROF_SUMMARY_H
#define OTELPROF_SUMMARY_H

#include <otelprof/otelprof.h>

#include "recording/tree/recording.h"

struct summary {
	double start;	  /* when sampling began, in seconds */
	double end;	  /* when it ended */
	double start_cpu; /* CPU time of this process until then */
	double end_cpu;
};

/* Sampling begins, or it has ended. */
void summary_begin(struct summary *s);
void summary_end(struct summary *s);
/* Print the summary of @r on stderr: the answer, then the quality. */
void summary_print(const struct summary *s, const struct recording *r,
		   struct otelprof *p);

#endif
