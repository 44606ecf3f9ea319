/* SPDX-License-Identifier: Apache-2.0 */
/* What programs.c and meant.c share: the processes that rules mean. */
#ifndef OP_PARTS_RULES_MEANT_H
#define OP_PARTS_RULES_MEANT_H

#include <dirent.h>

#include "base/hash.h"
#include "parts/rules/patterns.h"
#include "parts/rules/programs.h"
#include "parts/rules/reading.h"

/* A process that rules of one kind mean. */
struct op_meant {
	uint32_t pid;
	uint32_t kind;
	uint32_t pass; /* the pass over all processes that has seen it last */
	uint32_t len;
	struct op_stat stat; /* of the program whose environment that was found in */
	struct op_pattern *pattern[];
};

/* A process that is to be looked at. */
struct op_asked {
	uint32_t pid;
	uint32_t tries;
	uint64_t after_ns;
};

struct op_programs {
	struct op_programs_config config;
	struct op_patterns patterns;
	struct op_map64 meant; /* pid and kind -> struct op_meant */
	struct op_asked queue[OP_PROGRAMS_QUEUE];
	size_t queue_len;
	DIR *scan;  /* the pass under way, or NULL */
	bool again; /* a pass is wanted, after that one */
	/* the kernel had entries of that kind, and may have copied them */
	bool entered[OP_TARGET_KINDS];
	uint32_t pass;
	uint64_t pause_ns; /* that pass goes on then */
	uint64_t now_ns;
	uint64_t unread;
	uint64_t refused;
};

/* What was found of a process. */
struct op_found {
	struct op_programs *p;
	struct op_stat stat;
	uint32_t len;
	struct op_pattern *pattern[OP_PROGRAM_PATTERNS];
};

/* What rules of @kind found of process @pid, or NULL. */
struct op_meant *op_meant_find(const struct op_programs *p, uint32_t pid, uint32_t kind);
/* No rule means it any more. */
void op_meant_forget(struct op_programs *p, struct op_meant *m);
void op_meant_forget_pid(struct op_programs *p, uint32_t pid, uint32_t kind);
struct op_target_key op_meant_key(const struct op_meant *m);
/* What the rules say that mean it; of several the latest one decides. */
struct op_target_says op_meant_says(const struct op_meant *m);
/* Tell the kernel's table. @fresh: it has no such entry yet. Returns 0 or -errno. */
int op_meant_publish(struct op_programs *p, const struct op_meant *m, bool fresh);
/* @ctx is a struct op_found, to which @pattern is added. */
void op_found_take(void *ctx, struct op_pattern *pattern);
void op_found_take_all(struct op_found *found, const struct op_meant *from);
/* Rules of @kind that mean the process are these. Its entry is replaced, so that no sample
 * finds none. */
void op_meant_set(struct op_programs *p, uint32_t pid, uint32_t kind,
		  const struct op_found *found);

#endif
