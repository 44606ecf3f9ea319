/* SPDX-License-Identifier: Apache-2.0 */
/* Programs built against a header from before a struct had its last fields. */
#include "test.h"

#include <stddef.h>

#include "api/settings/config.h"
#include "otelprof/stats.h"

/* The bytes behind an old struct are anything. */
struct old {
	union {
		struct otelprof_config config;
		struct otelprof_stats stats;
		uint8_t bytes[1024];
	};
};

enum {
	CONFIG_FIRST = OP_CONFIG_THROUGH(struct otelprof_config, attributes_len),
	STATS_FIRST = OP_CONFIG_THROUGH(struct otelprof_stats, sample_period_ns),
};

static void test_old_config_has_no_layouts(void)
{
	struct otelprof_config copy;
	struct old old;

	memset(&old, 0xa5, sizeof(old));
	memset(&old, 0, CONFIG_FIRST);
	old.config.size = CONFIG_FIRST;
	old.config.max_processes = 7;
	CHECK_OK(op_config_copy(&copy, sizeof(copy), &old, CONFIG_FIRST, NULL, "x"));
	CHECK_INT(copy.max_processes, 7);
	CHECK(!copy.layouts_dir);
	CHECK_INT(copy.kinds, 0);
	/* Shorter than the first version. */
	old.config.size = CONFIG_FIRST - 1;
	CHECK_INT(op_config_copy(&copy, sizeof(copy), &old, CONFIG_FIRST, NULL, "x"),
		  -EINVAL);
}

static void test_old_stats_are_filled_as_far_as_they_reach(void)
{
	struct otelprof_stats whole = { .sample_period_ns = 5, .samples_restored = 6 };
	struct old old;

	memset(&old, 0xa5, sizeof(old));
	old.stats.size = STATS_FIRST;
	CHECK_OK(op_config_give(&old, &whole, sizeof(whole), STATS_FIRST));
	CHECK_INT(old.stats.size, STATS_FIRST);
	CHECK_INT(old.stats.sample_period_ns, 5);
	CHECK_INT(old.bytes[STATS_FIRST], 0xa5);
	old.stats.size = sizeof(whole);
	CHECK_OK(op_config_give(&old, &whole, sizeof(whole), STATS_FIRST));
	CHECK_INT(old.stats.samples_restored, 6);
}

/* A program of a later version that uses nothing of it is served. */
static void test_newer_struct_is_taken_where_its_tail_is_zero(void)
{
	struct otelprof_config copy;
	struct old newer;

	memset(&newer, 0, sizeof(newer));
	newer.config.size = sizeof(struct otelprof_config) + 16;
	newer.config.off_cpu_min_ns = 9;
	CHECK_OK(op_config_copy(&copy, sizeof(copy), &newer, CONFIG_FIRST, NULL, "x"));
	CHECK_INT(copy.off_cpu_min_ns, 9);
	newer.bytes[sizeof(struct otelprof_config) + 8] = 1;
	CHECK_INT(op_config_copy(&copy, sizeof(copy), &newer, CONFIG_FIRST, NULL, "x"),
		  -E2BIG);
}

TEST_MAIN({ "old_config_has_no_layouts", test_old_config_has_no_layouts },
	  { "old_stats_are_filled_as_far_as_they_reach",
	    test_old_stats_are_filled_as_far_as_they_reach },
	  { "newer_struct_is_taken_where_its_tail_is_zero",
	    test_newer_struct_is_taken_where_its_tail_is_zero })
