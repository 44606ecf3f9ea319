/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples with their times, as a profiler of timelines wants them: threads, the tree of their
 * stacks, and for each sample when it was taken. Every string, function, frame and stack is
 * stored once.
 */
#ifndef OTELPROF_FIREFOX_TIMELINE_H
#define OTELPROF_FIREFOX_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/vec.h"
#include "export/format/moments.h"
#include "export/format/strings.h"

enum {
	/* Beyond it timeline_add() returns -EFBIG. */
	TIMELINE_SAMPLES_MAX = 1 << 22,
};
#define TIMELINE_NONE UINT32_MAX

/* Records of one size, each stored once; they are compared by their bytes. */
struct timeline_set {
	OP_VEC(uint8_t) data;
	struct op_index index;
	size_t size;
	uint32_t len;
};

struct timeline_library {
	uint32_t path; /* strings */
	uint32_t name; /* last component of path */
	uint32_t build_id;
};

struct timeline_function {
	uint32_t name; /* strings */
	uint32_t file; /* 0: none */
	uint32_t type;
	uint32_t library; /* TIMELINE_NONE: none */
	uint32_t start_line;
};

struct timeline_frame {
	uint64_t address;
	uint32_t function;
	uint32_t line;
	uint32_t depth; /* of inlining; 0: not inlined */
	uint32_t column;
};

struct timeline_node {
	uint32_t
		prefix; /* node of the caller, which has a smaller number; or TIMELINE_NONE */
	uint32_t frame;
};

struct timeline_kind {
	uint32_t type; /* strings */
	uint32_t unit;
	uint32_t period_type;
	uint32_t period_unit;
	int64_t period;
};

struct timeline_thread {
	int64_t pid; /* -1: not known */
	int64_t tid;
	uint32_t process_name; /* strings */
	uint32_t name;
	uint32_t kind;
	uint32_t moment; /* moments; OP_MOMENT_NONE: what happened, and not a state */
};

struct timeline_sample {
	uint64_t time_ns; /* Unix time */
	int64_t value;
	uint32_t thread;
	uint32_t node; /* TIMELINE_NONE: no frames */
};

struct timeline {
	uint64_t seed;
	struct op_strings strings;
	struct op_moments moments;
	struct timeline_set libraries;
	struct timeline_set functions;
	struct timeline_set frames;
	struct timeline_set nodes;
	struct timeline_set kinds;
	struct timeline_set threads;
	OP_VEC(struct timeline_sample) samples;
	uint64_t start_ns; /* of the first profile; 0: none */
	uint64_t end_ns;
};

/* Returns 0 or -ENOMEM. */
int timeline_new(struct timeline **ret);
struct timeline *timeline_free(struct timeline *t);
OP_DEFINE_CLEANUP(struct timeline *, timeline_free)

/* Add one ExportProfilesServiceRequest. Returns 0, -EBADMSG, -EFBIG or -ENOMEM. */
int timeline_add(struct timeline *t, const void *request, size_t len);
/* Order the samples by thread and time. Of what is a state, not a sum (memory in use, threads),
 * only the last window of each host stays. */
void timeline_sort(struct timeline *t);

/* Record @i of a set, as a pointer to @type. */
#define TIMELINE_AT(set, type, i) (&((const type *)(const void *)(set)->data.data)[i])

#endif
