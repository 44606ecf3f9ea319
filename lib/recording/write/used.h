/* SPDX-License-Identifier: Apache-2.0 */
/* Which records of a timeline one thread uses, with numbers from 0 on. */
#ifndef OP_RECORDING_WRITE_USED_H
#define OP_RECORDING_WRITE_USED_H

#include "recording/write/timeline.h"

struct used_set {
	uint32_t *numbers;     /* by number in the timeline; TIMELINE_NONE: not used */
	OP_VEC(uint32_t) list; /* numbers in the timeline */
};

struct used {
	struct used_set nodes; /* callers before what they call */
	struct used_set frames;
	struct used_set functions;
	struct used_set libraries;
};

/* Returns 0 or -ENOMEM; call used_clear() in both cases. */
int used_init(struct used *u, const struct timeline *t);
void used_clear(struct used *u);
/* Find what the samples from @s to @end use. Returns 0 or -ENOMEM. */
int used_find(struct used *u, const struct timeline *t, const struct timeline_sample *s,
	      const struct timeline_sample *end);

#endif
