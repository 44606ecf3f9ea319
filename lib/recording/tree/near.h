/* SPDX-License-Identifier: Apache-2.0 */
/* Names that come near one that somebody wrote, for a message that tells it is not there. */
#ifndef OP_RECORDING_TREE_NEAR_H
#define OP_RECORDING_TREE_NEAR_H

#include <stddef.h>
#include <stdint.h>

enum {
	NEAR_MAX = 5,	       /* names that are kept */
	NEAR_NAME_BYTES = 256, /* of each, that are compared */
};

struct near_name {
	uint32_t label; /* the caller's */
	unsigned int distance;
	int64_t value;
};

/* Those that come near, the nearest first; and those with the largest values. */
struct near {
	const char *wanted;
	struct near_name nearest[NEAR_MAX];
	size_t nearest_len;
	struct near_name largest[NEAR_MAX];
	size_t largest_len;
	size_t names;
};

/* Add a name with its value. */
void near_add(struct near *n, uint32_t label, const char *name, int64_t value);

#endif
