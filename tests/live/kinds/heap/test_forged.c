/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that hits the probes itself, with numbers that no allocator has: its samples are
 * counted and capped, it gets no more than its share of the table, and others keep theirs.
 */
#include <otelprof/otelprof.h>

#include "forged.h"
#include "kind_profile.h"
#include "preload/heap/sampler.h"
#include "test.h"

enum {
	FORGED = 40000,
	A_PROCESS = 16384, /* op_heap.h */
};

#define TEBIBYTE 1099511627775.0

struct sums {
	double alloc_space;
	double inuse_space;
};

static PLACE void forges_here(int n)
{
	int i;

	for (i = 0; i < n; i++)
		op_preload_report_alloc((void *)(uintptr_t)(i * 16 + 16),
					UINT64_MAX - (uint64_t)i, UINT64_MAX);
	STAYS("forges");
}

static PLACE void lies_here(void)
{
	/* frees of what never was; no address, no size, no weight; one address again and again */
	int i;

	for (i = 0; i < 100; i++) {
		op_preload_report_free((void *)(uintptr_t)(i * 4096 + 8));
		op_preload_report_alloc(NULL, 0, 0);
		op_preload_report_free(NULL);
		op_preload_report_free(NULL);
	}
	STAYS("lies");
}

static void serve(int from, int to)
{
	int n;

	while (read(from, &n, sizeof(n)) == sizeof(n)) {
		lies_here();
		forges_here(n);
		(void)!write(to, &n, sizeof(n));
	}
}

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct sums *sums = profile->data;

	CHECK(s->value >= 0);
	if (kind_is(s, "alloc_space", "bytes"))
		sums->alloc_space += (double)s->value;
	if (kind_is(s, "inuse_space", "bytes"))
		sums->inuse_space += (double)s->value;
}

void test_forged(void)
{
	struct kind_child c = kind_child_start(serve);
	struct sums sums = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &sums };
	struct otelprof_config config;
	struct otelprof_stats stats;
	struct otelprof *p;
	int n = FORGED;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_HEAP;
	p = kind_start(&config, c.pid, &profile);
	kind_child_ask(p, &c, &n, sizeof(n), &n, sizeof(n));
	otelprof_stats_init(&stats, sizeof(stats));
	CHECK_OK(otelprof_get_stats(p, &stats));
	printf("  taken %llu, in use %llu, untracked %llu, %.3g bytes, %.3g in use\n",
	       (unsigned long long)stats.samples_taken,
	       (unsigned long long)stats.heap_in_use,
	       (unsigned long long)stats.heap_untracked, sums.alloc_space,
	       sums.inuse_space);
	CHECK(stats.samples_taken >= FORGED);
	CHECK(stats.heap_in_use > 0 && stats.heap_in_use <= A_PROCESS);
	CHECK(sums.alloc_space <= FORGED * TEBIBYTE);
	CHECK(sums.inuse_space <= A_PROCESS * TEBIBYTE);
	(void)kind_close(p); /* the sum of all samples closes */
	kind_child_end(&c);
}
