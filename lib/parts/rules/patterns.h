/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The patterns of rules by executable and environment. Rules with equal text share one.
 * Patterns are found by hash, so their number matters only for paths with a *, which
 * are tried one by one.
 */
#ifndef OP_PARTS_RULES_PATTERNS_H
#define OP_PARTS_RULES_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "op_user_types.h"

/* The text of a rule. */
struct op_pattern {
	struct op_pattern *next; /* next one with the same hash */
	uint32_t kind;		 /* OP_RULE_EXECUTABLE or _ENVIRONMENT */
	bool glob;		 /* a path with a * */
	size_t users;		 /* processes that it matches */
	struct op_rule_decision decision;
	size_t len;
	char text[];
};

struct op_patterns {
	uint64_t seed;
	struct op_map64 by_hash;
	OP_VEC(struct op_pattern *) globs;
	size_t len[OP_RULE_KINDS];
};

void op_patterns_init(struct op_patterns *p);
void op_patterns_deinit(struct op_patterns *p);
/* The pattern with this text, or NULL. */
struct op_pattern *op_patterns_find(const struct op_patterns *p, uint32_t kind,
				    const char *text, size_t len);
/* Add a pattern that is not in the set. Returns 0 or -ENOMEM. */
int op_patterns_add(struct op_patterns *p, uint32_t kind, const char *text,
		    struct op_pattern **ret);
/* Remove and free a pattern. */
void op_patterns_remove(struct op_patterns *p, struct op_pattern *pattern);

/* Does @text match @glob? A * matches any bytes, also none and a slash. */
bool op_glob_matches(const char *glob, size_t glob_len, const char *text, size_t len);

/* Call @fn for each pattern that matches the executable @path. */
typedef void (*op_pattern_fn)(void *ctx, struct op_pattern *pattern);
void op_patterns_of_path(const struct op_patterns *p, const char *path, op_pattern_fn fn,
			 void *ctx);
/* Call @fn for each pattern that matches the environment: @len bytes of "NAME=VALUE",
 * each with a NUL. A last one that is cut does not count. */
void op_patterns_of_environ(const struct op_patterns *p, const char *text, size_t len,
			    op_pattern_fn fn, void *ctx);

#endif
