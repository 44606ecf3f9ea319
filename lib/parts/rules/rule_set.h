/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules that choose processes: an ordered list, set at once or changed one by one.
 * The kernel finds them by target, so their number costs a sample nothing, and their rank
 * says which of several decides.
 */
#ifndef OP_PARTS_RULES_RULE_SET_H
#define OP_PARTS_RULES_RULE_SET_H

#include <stdint.h>

#include "base/allowance.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "kernel/capture.h"
#include "otelprof/config.h"
#include "parts/rules/matches.h"
#include "parts/rules/rates.h"

enum {
	/* space for targets when the first rule comes; later it is OTELPROF_RULES_MAX */
	OP_RULE_SET_FIRST = 16384,
	/* and OP_RULE_SET_MAX, where processes that rules mean want it */
	OP_RULE_SET_MAX = OTELPROF_RULES_MAX + 2 * OP_MATCHES_MAX,
	OP_RULE_SET_EXPIRE = 64,  /* a poll does no more */
	OP_RULE_SET_FOLLOW = 512, /* control groups that are looked at again at a time */
	OP_RULE_SET_LOOK = 16,	  /* control groups that are looked for at a time */
};

struct op_rule_set;

struct op_rule_set_config {
	struct op_log *log;
	struct op_capture *capture;
	struct op_target *target; /* what reads of processes; borrowed, as is the next */
	const char *procfs_root;
	uint32_t sample_rate_hz;
};

int op_rule_set_new(const struct op_rule_set_config *config, struct op_rule_set **ret);
struct op_rule_set *op_rule_set_free(struct op_rule_set *t);
OP_DEFINE_CLEANUP(struct op_rule_set *, op_rule_set_free)

/*
 * Add a rule at the end, which was checked; copies its text. *@ret is its number, which no
 * other one has had. Returns 0; -ENOSPC for too many rules, rates, ages or paths with a *;
 * -ENOENT for a cgroup that is not there; -ENOMEM; or the kernel's errno.
 */
int op_rule_set_add(struct op_rule_set *t, const struct otelprof_rule *rule,
		    uint64_t now_ns, uint64_t *ret);
/*
 * Set a list of rules, which were checked, in place of those that were set before; those that
 * were added singly stay behind it. No sample is judged by half of it. One whose cgroup is
 * not there waits for it. @clock_hz: the clock's rate now. On failure nothing has changed.
 */
int op_rule_set_replace(struct op_rule_set *t, const struct otelprof_rule *rules,
			size_t len, uint64_t now_ns, uint32_t clock_hz);
/* Returns 0, or -ENOENT if it is not there, or has ended. */
int op_rule_set_remove(struct op_rule_set *t, uint64_t number);
/* Remove those whose time is over, OP_RULE_SET_EXPIRE at most. Returns how many. */
size_t op_rule_set_expire(struct op_rule_set *t, uint64_t now_ns);
/* When to call op_rule_set_expire() next, CLOCK_MONOTONIC; 0: no rule's time ends. One
 * that was removed may have been the reason. */
uint64_t op_rule_set_next_ns(const struct op_rule_set *t);
size_t op_rule_set_len(const struct op_rule_set *t);
/* Call @fn for each in their order; rule->duration_ns is what is left of it. 0 or
 * -ENOMEM. */
typedef void (*op_rule_set_fn)(void *ctx, uint64_t number,
			       const struct otelprof_rule *rule);
int op_rule_set_each(const struct op_rule_set *t, uint64_t now_ns, op_rule_set_fn fn,
		     void *ctx);
/* Events of processes, in the order in which the kernel made them; @ctx: the targets. */
void op_rule_set_on_fork(void *ctx, uint32_t pid, uint32_t parent);
void op_rule_set_on_exec(void *ctx, uint32_t pid);
void op_rule_set_on_exit(void *ctx, uint32_t pid);
void op_rule_set_on_lost(void *ctx);
/* Look for processes that rules mean, and for what rules wait for, until @allowance is over; and
 * when to do that next, 0: none waits. */
void op_rule_set_work(struct op_rule_set *t, uint64_t now_ns,
		      struct op_allowance *allowance);
uint64_t op_rule_set_work_ns(const struct op_rule_set *t);
void op_rule_set_get_stats(const struct op_rule_set *t, struct op_match_stats *ret);
/* All rates there are. */
struct op_rule_rates *op_rule_set_rates(struct op_rule_set *t);

#endif
