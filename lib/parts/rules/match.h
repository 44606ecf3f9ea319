/* SPDX-License-Identifier: Apache-2.0 */
/* What matches.c and match.c share: the processes that rules mean. */
#ifndef OP_PARTS_RULES_MATCH_H
#define OP_PARTS_RULES_MATCH_H

#include <dirent.h>

#include "base/hash.h"
#include "base/io.h"
#include "parts/rules/match_input.h"
#include "parts/rules/matches.h"
#include "parts/rules/patterns.h"

/* A process that rules of one kind mean. */
struct op_match {
	uint32_t pid;
	uint32_t kind;
	uint32_t pass; /* the pass over all processes that has seen it last */
	uint32_t len;
	struct op_stat stat; /* of the program whose environment that was found in */
	struct op_pattern *pattern[];
};

/* A process to examine. */
struct op_match_candidate {
	uint32_t pid;
	uint32_t tries;
	uint64_t after_ns;
};

struct op_matches {
	struct op_matches_config config;
	struct op_patterns patterns;
	struct op_map64 matched; /* pid and kind -> struct op_match */
	struct op_match_candidate queue[OP_MATCHES_QUEUE];
	size_t queue_len;
	DIR *scan;  /* the pass under way, or NULL */
	bool again; /* a pass is wanted, after that one */
	/* the kernel had entries of that kind, and may have copied them */
	bool entered[OP_RULE_KINDS];
	uint32_t pass;
	uint64_t pause_ns; /* that pass goes on then */
	uint64_t now_ns;
	uint64_t unread;
	uint64_t refused;
};

/* What was found of a process. */
struct op_match_found {
	struct op_matches *p;
	struct op_stat stat;
	uint32_t len;
	struct op_pattern *pattern[OP_MATCH_PATTERNS];
};

/* What rules of @kind found of process @pid, or NULL. */
struct op_match *op_match_find(const struct op_matches *p, uint32_t pid, uint32_t kind);
/* No rule matches it now. */
void op_match_forget(struct op_matches *p, struct op_match *m);
void op_match_forget_pid(struct op_matches *p, uint32_t pid, uint32_t kind);
struct op_rule_key op_match_key(const struct op_match *m);
/* What the rules say that mean it; of several the latest one decides. */
struct op_rule_decision op_match_decision(const struct op_match *m);
/* Tell the kernel's table. @fresh: it has no such entry yet. Returns 0 or -errno. */
int op_match_publish(struct op_matches *p, const struct op_match *m, bool fresh);
/* @ctx is a struct op_match_found, to which @pattern is added. */
void op_match_found_take(void *ctx, struct op_pattern *pattern);
void op_match_found_take_all(struct op_match_found *found, const struct op_match *from);
/* Rules of @kind that mean the process are these. Its entry is replaced, so that no sample
 * finds none. */
void op_match_set(struct op_matches *p, uint32_t pid, uint32_t kind,
		  const struct op_match_found *found);

#endif
