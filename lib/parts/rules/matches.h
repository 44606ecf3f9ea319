/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules by executable and by environment. User space evaluates them: it reads a process
 * from /proc after an exec, and all processes after a new rule. A child process
 * inherits the matches of its parent. Each matching process has an entry in the
 * kernel's table under its pid.
 *
 * Only matching processes are kept. All work is done in slices.
 */
#ifndef OP_PARTS_RULES_MATCHES_H
#define OP_PARTS_RULES_MATCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/allowance.h"
#include "base/cleanup.h"
#include "op_user_types.h"

struct op_matches;
struct op_target;

enum {
	OP_MATCHES_MAX = 32768, /* matching processes, for each of the two kinds */
	OP_MATCH_PATTERNS = 64, /* rule texts of one kind that may match one process */
	/* processes that wait to be examined; beyond that all are */
	OP_MATCHES_QUEUE = 1024,
};

struct op_matches_config {
	struct op_target *target; /* borrowed */
	const char *procfs_root;  /* borrowed */
	/* Write an entry in the kernel's table. @fresh: there is none yet. 0 or -errno. */
	int (*publish)(void *ctx, const struct op_rule_key *key,
		       const struct op_rule_decision *decision, bool fresh);
	/* Remove an entry. @known: it was published. If not, the kernel may have made a
	 * copy at a fork. */
	void (*unpublish)(void *ctx, const struct op_rule_key *key, bool known);
	void *ctx;
};

struct op_match_stats {
	/* pairs of a process and a kind of rules that match it, at present */
	uint64_t matched;
	uint64_t unread; /* failed attempts to read a process */
	/* processes and rules left out by one of the limits above or for lack of memory */
	uint64_t refused;
};

int op_matches_new(const struct op_matches_config *config, struct op_matches **ret);
struct op_matches *op_matches_free(struct op_matches *p);
OP_DEFINE_CLEANUP(struct op_matches *, op_matches_free)

/* Set the decision of the rules of @kind (enum op_rule_kind) with @text. Returns 0 or
 * -ENOMEM. */
int op_matches_set(struct op_matches *p, uint32_t kind, const char *text,
		   const struct op_rule_decision *decision);
/* As above, but leaves the kernel's table alone: op_matches_each() fills another one. */
int op_matches_say(struct op_matches *p, uint32_t kind, const char *text,
		   const struct op_rule_decision *decision);
/* Remove the text. No rule has it any longer. */
void op_matches_unset(struct op_matches *p, uint32_t kind, const char *text);

/* Events, in the kernel's order: */
void op_matches_on_fork(struct op_matches *p, uint32_t pid, uint32_t parent);
void op_matches_on_exec(struct op_matches *p, uint32_t pid);
void op_matches_on_exit(struct op_matches *p, uint32_t pid);
/* Events were lost, or were not received. Examine all processes again. */
void op_matches_on_lost(struct op_matches *p);

/* Examine processes until @allowance is over, at least one of a pass. @now_ns is
 * CLOCK_MONOTONIC. */
void op_matches_work(struct op_matches *p, uint64_t now_ns,
		     struct op_allowance *allowance);
/* When to call op_matches_work() next. 0: no process waits. */
uint64_t op_matches_next_ns(const struct op_matches *p);

/* Number of entries in the kernel's table. */
size_t op_matches_len(const struct op_matches *p);
/* Call @fn for each entry, until it fails. Returns its last result. */
typedef int (*op_matches_fn)(void *ctx, const struct op_rule_key *key,
			     const struct op_rule_decision *decision);
int op_matches_each(const struct op_matches *p, op_matches_fn fn, void *ctx);
void op_matches_get_stats(const struct op_matches *p, struct op_match_stats *ret);

#endif
