/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OP_TEST_STATS_H
#define OP_TEST_STATS_H

#include <otelprof/otelprof.h>

#include "test.h"

static inline struct otelprof_stats stats_of(struct otelprof *p)
{
	struct otelprof_stats s;

	otelprof_stats_init(&s, sizeof(s));
	CHECK_OK(otelprof_get_stats(p, &s));
	return s;
}

#endif
