/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules by what a program is: its executable or its environment. A process is read from /proc
 * when a text of rules is new, and when it executed; a child is what its parent is. So each
 * process that one of them means has an entry in the kernel's table under its pid.
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
	OP_MATCHES_MAX = 32768, /* processes that rules mean, for each of both kinds */
	OP_MATCH_PATTERNS = 64, /* texts of rules of one kind that mean one process */
	/* processes that wait to be looked at; if there are more, all are */
	OP_MATCHES_QUEUE = 1024,
};

struct op_matches_config {
	struct op_target *target; /* borrowed */
	const char *procfs_root;  /* borrowed */
	/* Tell the kernel's table. @fresh: it has no such entry yet. 0 or -errno. */
	int (*publish)(void *ctx, const struct op_rule_key *key,
		       const struct op_rule_decision *decision, bool fresh);
	/* @known: it was published. If not, the kernel may have copied it by itself. */
	void (*unpublish)(void *ctx, const struct op_rule_key *key, bool known);
	void *ctx;
};

struct op_match_stats {
	uint64_t matched; /* processes and kinds of rules that match them, now */
	uint64_t unread;  /* times that a process could not be read */
	uint64_t refused; /* times that one of the limits above or a lack of memory left a
			   * process or a rule out */
};

int op_matches_new(const struct op_matches_config *config, struct op_matches **ret);
struct op_matches *op_matches_free(struct op_matches *p);
OP_DEFINE_CLEANUP(struct op_matches *, op_matches_free)

/* From now on rules of @kind (enum op_rule_kind) with @text say @decision. Returns 0 or
 * -ENOMEM. */
int op_matches_set(struct op_matches *p, uint32_t kind, const char *text,
		   const struct op_rule_decision *decision);
/* The same, without a change of the kernel's table: op_matches_each() fills another
 * one. */
int op_matches_say(struct op_matches *p, uint32_t kind, const char *text,
		   const struct op_rule_decision *decision);
/* No rule has that text now. */
void op_matches_unset(struct op_matches *p, uint32_t kind, const char *text);

/* Events, in the order in which the kernel made them. */
void op_matches_on_fork(struct op_matches *p, uint32_t pid, uint32_t parent);
void op_matches_on_exec(struct op_matches *p, uint32_t pid);
void op_matches_on_exit(struct op_matches *p, uint32_t pid);
/* Events were lost, or nobody listened: all processes are looked at again. */
void op_matches_on_lost(struct op_matches *p);

/* Look at processes until @allowance is over, and longer by one of them. @now_ns is
 * CLOCK_MONOTONIC. */
void op_matches_work(struct op_matches *p, uint64_t now_ns,
		     struct op_allowance *allowance);
/* When to call that next; 0: no process waits. */
uint64_t op_matches_next_ns(const struct op_matches *p);

/* How many entries the table has of it. */
size_t op_matches_len(const struct op_matches *p);
/* Call @fn for all entries, until it fails. Returns what it does. */
typedef int (*op_matches_fn)(void *ctx, const struct op_rule_key *key,
			     const struct op_rule_decision *decision);
int op_matches_each(const struct op_matches *p, op_matches_fn fn, void *ctx);
void op_matches_get_stats(const struct op_matches *p, struct op_match_stats *ret);

#endif
