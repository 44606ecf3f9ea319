/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions that choose frames by their names. Names come from other people. So each
 * distinct name is matched once, up to a length, and in a time that is linear in its
 * length.
 */
#ifndef OP_RECORDING_REQUESTS_PATTERN_H
#define OP_RECORDING_REQUESTS_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "otlp/reader.h"

enum {
	PATTERN_BYTES_MAX = 1024,  /* of an expression */
	PATTERN_REPEAT_MAX = 255,  /* product of all bounds such as {3,9} */
	PATTERNS_MAX = 16,	   /* expressions of one pattern */
	PATTERN_NAME_BYTES = 8192, /* bytes of a name, as it is shown, that are matched */
	PATTERN_WHY_BYTES = 256,
};

struct pattern;

/*
 * Add an expression to *@p, which is made if it is NULL. A name matches if it contains
 * @text literally, or matches it as an extended regular expression of POSIX. Returns 0;
 * -ENOMEM; or -EINVAL with the reason in @why.
 */
int pattern_add(struct pattern **p, const char *text, char why[PATTERN_WHY_BYTES]);
struct pattern *pattern_free(struct pattern *p);

/* Does one of the expressions match? An empty name never does. Returns 1, 0 or -ENOMEM. */
int pattern_matches(struct pattern *p, struct otlp_text name);

/* Does one of them match the name of a function, or the last part of its module or its
 * source file? Returns 1, 0 or -ENOMEM. */
int pattern_matches_frame(struct pattern *p, struct otlp_text function,
			  struct otlp_text module, struct otlp_text file);

#endif
