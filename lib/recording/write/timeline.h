/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording in the form of a timeline profiler: threads, the tree of their stacks,
 * and the time of each sample. A frame is a line of the collection. Each kind of
 * samples has threads of its own.
 */
#ifndef OP_RECORDING_WRITE_TIMELINE_H
#define OP_RECORDING_WRITE_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "recording/tree/recording.h"
#include "recording/tree/tree.h"

#define TIMELINE_NONE UINT32_MAX

struct timeline_library {
	uint32_t path; /* strings */
	uint32_t name; /* last component of path */
	uint32_t build_id;
};

/* A function of a library. Functions of two libraries with one name are two. */
struct timeline_function {
	uint32_t function; /* of the collection */
	uint32_t library;  /* TIMELINE_NONE: none */
};

struct timeline_frame {
	uint32_t location;
	uint32_t function; /* functions */
};

struct timeline_sample {
	uint64_t time_ns;
	int64_t value;
	uint32_t thread;
	uint32_t node; /* 0: no frames */
};

struct timeline {
	struct op_collect *c; /* borrowed */
	OP_VEC(struct timeline_library) libraries;
	OP_VEC(struct timeline_function) functions;
	OP_VEC(struct timeline_frame) frames;	/* for each line of the collection */
	struct tree nodes;			/* of frames */
	OP_VEC(uint32_t) threads;		/* a stack of each */
	OP_VEC(struct timeline_sample) samples; /* by thread and time */
};

/* Make the timeline of @r, whose strings get the names of libraries. Returns 0 or
 * -ENOMEM. The caller calls timeline_clear() in both cases. */
int timeline_make(const struct recording *r, struct timeline *ret);
void timeline_clear(struct timeline *t);

/* The records of a timeline that one thread uses, with numbers from 0 on. */
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

/* Returns 0 or -ENOMEM. Call used_clear() in both cases. */
int used_init(struct used *u, const struct timeline *t);
void used_clear(struct used *u);
/* Find the records that the samples from @s to @end use. Returns 0 or -ENOMEM. */
int used_find(struct used *u, const struct timeline *t, const struct timeline_sample *s,
	      const struct timeline_sample *end);

#endif
