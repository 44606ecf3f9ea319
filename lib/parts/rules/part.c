/* SPDX-License-Identifier: Apache-2.0 */
/* Rules as a part of a handle. */
#include "base/allowance.h"
#include "base/io.h"
#include "otelprof/stats.h"
#include "parts/parts.h"
#include "parts/rules/rule_set.h"
#include "process/processes.h"

enum {
	TURN_PARTS = 10, /* share of a poll for finding the processes that rules match */
};

static int rules_make(const struct op_part_config *config, void **ret)
{
	struct op_processes *p = config->processes;
	struct op_rule_set *t = NULL;
	int r = op_rule_set_new(
		&(struct op_rule_set_config){ .log = config->log,
					      .capture = config->capture,
					      .target = op_processes_target(p),
					      .procfs_root =
						      op_processes_config(p)->procfs_root,
					      .sample_rate_hz = config->sample_rate_hz },
		&t);

	if (r < 0)
		return r;
	op_processes_set_watch(p,
			       &(struct op_process_watch){ .on_fork = op_rule_set_on_fork,
							   .on_exec = op_rule_set_on_exec,
							   .on_exit = op_rule_set_on_exit,
							   .on_lost = op_rule_set_on_lost,
							   .ctx = t });
	*ret = t;
	return 0;
}

static void rules_free(void *part)
{
	op_rule_set_free(part);
}

static void poll_processes(void *part, struct op_allowance *allowance,
			   struct op_window *window, struct op_part_taken *taken)
{
	uint64_t now_ns = op_allowance_now(allowance);
	struct op_allowance turn = op_allowance_within(
		allowance, op_allowance_part(allowance, now_ns, TURN_PARTS));

	op_rule_set_work(part, op_clock_monotonic_ns(), &turn);
}

/* Rules expire, and processes wait to be examined. */
static uint64_t next_ns(const void *part)
{
	uint64_t end_ns = op_rule_set_next_ns(part);
	uint64_t work_ns = op_rule_set_work_ns(part);

	return end_ns && (!work_ns || end_ns < work_ns) ? end_ns : work_ns;
}

static void get_stats(const void *part, struct otelprof_stats *ret)
{
	struct op_match_stats stats;

	op_rule_set_get_stats(part, &stats);
	ret->rules = op_rule_set_len(part);
	ret->rule_processes = stats.matched;
	ret->rule_processes_unread = stats.unread;
	ret->rule_processes_refused = stats.refused;
}

const struct op_part_ops op_part_rules = {
	.name = "rules",
	.make = rules_make,
	.free = rules_free,
	.poll = poll_processes,
	.next_ns = next_ns,
	.get_stats = get_stats,
};
