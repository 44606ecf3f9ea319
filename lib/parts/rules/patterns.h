/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The patterns of rules by executable and environment: texts, each once, however many
 * rules have it. A process is asked for once, and finds all that mean it: the number of
 * texts matters only for paths with a *, which are tried one by one.
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
	struct op_pattern *next; /* of the same hash */
	uint32_t kind;		 /* OP_RULE_EXECUTABLE or _ENVIRONMENT */
	bool glob;		 /* a path with a * */
	size_t users;		 /* processes that it means */
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
/* The one of that text, or NULL. */
struct op_pattern *op_patterns_find(const struct op_patterns *p, uint32_t kind,
				    const char *text, size_t len);
/* Add one that is not there. Returns 0 or -ENOMEM. */
int op_patterns_add(struct op_patterns *p, uint32_t kind, const char *text,
		    struct op_pattern **ret);
/* Remove and free. */
void op_patterns_remove(struct op_patterns *p, struct op_pattern *pattern);

/* Does @text match @glob, in which * stands for any bytes, also for none and for a slash? */
bool op_glob_matches(const char *glob, size_t glob_len, const char *text, size_t len);

/* Call @fn for each that means a process with that executable. */
typedef void (*op_pattern_fn)(void *ctx, struct op_pattern *pattern);
void op_patterns_of_path(const struct op_patterns *p, const char *path, op_pattern_fn fn,
			 void *ctx);
/* The same with that environment, @len bytes of "NAME=VALUE" with a NUL each. The last one
 * may be cut, and does not count then. */
void op_patterns_of_environ(const struct op_patterns *p, const char *text, size_t len,
			    op_pattern_fn fn, void *ctx);

#endif
