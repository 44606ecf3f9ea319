/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules that choose processes: an ordered list, set at once or changed one by one.
 * The kernel finds rules by target, so a sample costs the same however many there are.
 * If several match, the rank decides.
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
	/* space for targets with the first rule; later OTELPROF_RULES_MAX */
	OP_RULE_SET_FIRST = 16384,
	/* and OP_RULE_SET_MAX if processes that rules match need it */
	OP_RULE_SET_MAX = OTELPROF_RULES_MAX + 2 * OP_MATCHES_MAX,
	OP_RULE_SET_EXPIRE = 64,  /* rules that may expire in one poll */
	OP_RULE_SET_FOLLOW = 512, /* control groups that one poll checks again */
	OP_RULE_SET_LOOK = 16,	  /* control groups that one poll searches for */
};

struct op_rule_set;

struct op_rule_set_config {
	struct op_log *log;
	struct op_capture *capture;
	struct op_target *target; /* reads processes; borrowed, like the next member */
	const char *procfs_root;
	uint32_t sample_rate_hz;
};

int op_rule_set_new(const struct op_rule_set_config *config, struct op_rule_set **ret);
struct op_rule_set *op_rule_set_free(struct op_rule_set *t);
OP_DEFINE_CLEANUP(struct op_rule_set *, op_rule_set_free)

/*
 * Add a rule, which was checked, at the end. Copies its text. *@ret is its number,
 * which no earlier rule had. Returns 0; -ENOSPC for too many rules, rates, ages or
 * paths with a *; -ENOENT for a cgroup that does not exist; -ENOMEM; or the kernel's
 * errno.
 */
int op_rule_set_add(struct op_rule_set *t, const struct otelprof_rule *rule,
		    uint64_t now_ns, uint64_t *ret);
/*
 * Replace the list of rules, which were checked. Rules of op_rule_set_add() stay behind
 * them. Each sample is judged by the whole old list or the whole new one. A rule whose
 * cgroup does not exist waits for it. @clock_hz: the current rate of the clock. On
 * failure nothing has changed.
 */
int op_rule_set_replace(struct op_rule_set *t, const struct otelprof_rule *rules,
			size_t len, uint64_t now_ns, uint32_t clock_hz);
/* Returns 0, or -ENOENT if there is no such rule. */
int op_rule_set_remove(struct op_rule_set *t, uint64_t number);
/* Remove rules whose time is over, at most OP_RULE_SET_EXPIRE. Returns how many. */
size_t op_rule_set_expire(struct op_rule_set *t, uint64_t now_ns);
/* When to call op_rule_set_expire() next, CLOCK_MONOTONIC, or earlier if a rule was
 * removed. 0: no rule expires. */
uint64_t op_rule_set_next_ns(const struct op_rule_set *t);
size_t op_rule_set_len(const struct op_rule_set *t);
/* Call @fn for each rule in order. Its duration_ns is the time left. Returns 0 or
 * -ENOMEM. */
typedef void (*op_rule_set_fn)(void *ctx, uint64_t number,
			       const struct otelprof_rule *rule);
int op_rule_set_each(const struct op_rule_set *t, uint64_t now_ns, op_rule_set_fn fn,
		     void *ctx);
/* Events of processes, in the kernel's order. @ctx is a struct op_rule_set. */
void op_rule_set_on_fork(void *ctx, uint32_t pid, uint32_t parent);
void op_rule_set_on_exec(void *ctx, uint32_t pid);
void op_rule_set_on_exit(void *ctx, uint32_t pid);
void op_rule_set_on_lost(void *ctx);
/* Find processes that rules match, and control groups for which rules wait, until
 * @allowance is over. op_rule_set_work_ns(): when to call it next, 0: nothing waits. */
void op_rule_set_work(struct op_rule_set *t, uint64_t now_ns,
		      struct op_allowance *allowance);
uint64_t op_rule_set_work_ns(const struct op_rule_set *t);
void op_rule_set_get_stats(const struct op_rule_set *t, struct op_match_stats *ret);
/* The rates of all rules. */
struct op_rule_rates *op_rule_set_rates(struct op_rule_set *t);

#endif
