/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by matches.c and match.c: the processes that rules match. */
#ifndef OP_PARTS_RULES_MATCH_H
#define OP_PARTS_RULES_MATCH_H

#include <dirent.h>

#include "base/hash.h"
#include "base/io.h"
#include "parts/rules/match_input.h"
#include "parts/rules/matches.h"
#include "parts/rules/patterns.h"

/* A process that rules of one kind match. */
struct op_match {
	uint32_t pid;
	uint32_t kind;
	uint32_t pass; /* number of the last pass over all processes that saw it */
	uint32_t len;
	struct op_stat stat; /* of the program whose environment matched */
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
	DIR *scan;  /* the current pass over all processes, or NULL */
	bool again; /* another pass follows it */
	/* the kernel had entries of this kind, and may have copied them at a fork */
	bool entered[OP_RULE_KINDS];
	uint32_t pass;
	uint64_t pause_ns; /* when that pass continues */
	uint64_t now_ns;
	uint64_t unread;
	uint64_t refused;
};

/* The rules that match a process. */
struct op_match_found {
	struct op_matches *p;
	struct op_stat stat;
	uint32_t len;
	struct op_pattern *pattern[OP_MATCH_PATTERNS];
};

/* The match of process @pid by rules of @kind, or NULL. */
struct op_match *op_match_find(const struct op_matches *p, uint32_t pid, uint32_t kind);
/* No rule matches it any longer. Removes its entry from the kernel's table. */
void op_match_forget(struct op_matches *p, struct op_match *m);
void op_match_forget_pid(struct op_matches *p, uint32_t pid, uint32_t kind);
struct op_rule_key op_match_key(const struct op_match *m);
/* The combined decision of its rules. The latest rule wins. */
struct op_rule_decision op_match_decision(const struct op_match *m);
/* Write its entry in the kernel's table. @fresh: there is none yet. Returns 0 or
 * -errno. */
int op_match_publish(struct op_matches *p, const struct op_match *m, bool fresh);
/* Adds @pattern to @ctx, a struct op_match_found. */
void op_match_found_take(void *ctx, struct op_pattern *pattern);
void op_match_found_take_all(struct op_match_found *found, const struct op_match *from);
/* Set the rules of @kind that match the process. Its entry is replaced at once, so
 * every sample finds one. */
void op_match_set(struct op_matches *p, uint32_t pid, uint32_t kind,
		  const struct op_match_found *found);

#endif
