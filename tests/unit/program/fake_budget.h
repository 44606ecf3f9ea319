/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of what budgets decided, each with a value of its own, from 101 on. */
#ifndef FAKE_BUDGET_H
#define FAKE_BUDGET_H

#include <otelprof/stats.h>

static inline void set_budget(struct otelprof_stats *s)
{
	uint64_t *const of[] = { &s->cpu_ns,	      &s->rate_changes,
				 &s->names_postponed, &s->tables_postponed,
				 &s->memory_bytes,    &s->memory_limit_bytes,
				 &s->memory_over,     &s->names_evicted,
				 &s->tables_evicted,  &s->processes_evicted };
	size_t i;

	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		*of[i] = 101 + i;
}

#endif
