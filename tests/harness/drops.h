/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the samples that a profiler dropped, by the name of the reason. */
#ifndef TEST_DROPS_H
#define TEST_DROPS_H

#include <otelprof/otelprof.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

struct drops_wanted {
	const char *name;
	uint64_t count;
	bool found;
};

static inline void drops_take(void *userdata, const char *name, const char *sentence,
			      uint64_t count)
{
	struct drops_wanted *w = userdata;

	if (strcmp(name, w->name) != 0)
		return;
	w->count = count;
	w->found = true;
}

static inline uint64_t drops_of(struct otelprof *p, const char *name)
{
	struct drops_wanted w = { .name = name };

	CHECK_OK(otelprof_drops(p, drops_take, &w));
	CHECK(w.found);
	return w.count;
}

static inline void drops_print_one(void *userdata, const char *name, const char *sentence,
				   uint64_t count)
{
	if (count)
		printf("dropped: %s %llu\n", name, (unsigned long long)count);
}

static inline void drops_print(struct otelprof *p)
{
	CHECK_OK(otelprof_drops(p, drops_print_one, NULL));
}

#endif
