/* SPDX-License-Identifier: Apache-2.0 */
/* Names that come near one that somebody wrote, for a message that tells it is not there. */
#ifndef OP_RECORDING_TREE_SUGGEST_H
#define OP_RECORDING_TREE_SUGGEST_H

#include <stddef.h>
#include <stdint.h>

enum {
	SUGGESTIONS_MAX = 5,	/* names that are kept */
	SUGGESTION_BYTES = 256, /* of each, that are compared */
};

struct suggestion {
	uint32_t label; /* the caller's */
	unsigned int distance;
	int64_t value;
};

/* Those that come near, the nearest first; and those with the largest values. */
struct suggestions {
	const char *wanted;
	struct suggestion nearest[SUGGESTIONS_MAX];
	size_t nearest_len;
	struct suggestion largest[SUGGESTIONS_MAX];
	size_t largest_len;
	size_t names;
};

/* Add a name with its value. */
void suggestions_add(struct suggestions *n, uint32_t label, const char *name,
		     int64_t value);

#endif
