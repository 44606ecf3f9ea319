/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a handle: what it does beside the clock's samples. Each one is a folder with a
 * table of operations. It knows no other part, and the handle knows it by its table. A new one
 * is a folder, a row of op_part_ops here, and a line in parts.c.
 *
 *   goroutines/  snapshots of goroutines, and of the heaps of Go programs
 *   heap/        probes of allocations, and what is in use
 *   probes/      places that a user names, and probes in every mapped file
 *   rules/       which processes are sampled, and how often
 *   threads/     snapshots of threads
 */
#ifndef OP_PARTS_PARTS_H
#define OP_PARTS_PARTS_H

#include <errno.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/rows/drops.h"
#include "op_events.h"

struct op_capture;
struct op_log;
struct op_mapped;
struct op_parts;
struct op_probes;
struct op_processes;
struct op_sampler;
struct op_rule_set;
struct op_allowance;
struct op_window;
struct otelprof_stats;

/* All pointers are borrowed until the part is freed. */
struct op_part_config {
	struct op_log *log;
	struct op_capture *capture;
	struct op_processes *processes;
	struct op_sampler *sampler;
	struct op_mapped *mapped; /* op_parts_new() sets it */
	const char *sysfs_root;
	uint32_t sample_rate_hz;
};

/* Samples that a part took, and how many of them were dropped. */
struct op_part_taken {
	uint64_t taken;
	uint64_t dropped[OP_DROPS];
	uint64_t lost[OP_EVENT_MAX]; /* the same, by kind */
};

static inline void op_part_drop(struct op_part_taken *t, enum op_event event,
				enum op_drop why, uint64_t n)
{
	t->taken += n;
	t->dropped[why] += n;
	t->lost[event] += n;
}

/* Count one sample. @result: 0, or the -errno for which it was dropped. */
static inline void op_part_count(struct op_part_taken *t, enum op_event event, int result)
{
	if (result >= 0)
		t->taken++;
	else
		op_part_drop(t, event,
			     result == -ENOSPC	 ? OP_DROP_WINDOW
			     : result == -ENOMEM ? OP_DROP_MEMORY
						 : OP_DROP_RECORD,
			     1);
}

/* The point in a poll at which a part works. */
enum op_part_when {
	/* after new processes and files of the ring and the side-band */
	OP_PART_AFTER_RING,
	OP_PART_BEFORE_RING, /* before the ring, which may take most of the poll's time */
};

/* Why the window ends. */
enum op_part_end {
	OP_PART_END_EXPORT,
	OP_PART_END_RATE,   /* the rate changes before the window ends by itself */
	OP_PART_END_BUDGET, /* the same in a poll, which has no time for a snapshot */
	OP_PART_END_STOP,   /* sampling is about to stop */
	OP_PART_END_LAST,   /* it has stopped, and the last records are in the window */
};

/* A part leaves out (NULL) the functions that it does not need. */
struct op_part_ops {
	const char *name;
	enum op_part_when when;
	/* Make the part in *@ret, which is freed also after a failure. Without this
	 * function @config is the part. */
	int (*make)(const struct op_part_config *config, void **ret);
	void (*free)(void *part);
	/* Attach what the kinds @kinds need, and detach the rest. 0: nothing is
	 * sampled. Returns 0, or -errno with a sentence. */
	int (*set_kinds)(void *part, uint64_t kinds);
	/* Continue work under way, for a share of @allowance. */
	void (*poll)(void *part, struct op_allowance *allowance, struct op_window *window,
		     struct op_part_taken *taken);
	/* When to poll next (CLOCK_MONOTONIC). 0: no work is under way. */
	uint64_t (*next_ns)(const void *part);
	/* Add a snapshot to @window, which ends. Returns 0, or -errno if the snapshot
	 * is not complete. */
	int (*snapshot)(void *part, struct op_window *window, enum op_part_end end,
			struct op_part_taken *taken);
	/* Add to *@ret. */
	void (*get_stats)(const void *part, struct otelprof_stats *ret);
};

extern const struct op_part_ops op_part_goroutines;
extern const struct op_part_ops op_part_heap;
extern const struct op_part_ops op_part_mapped;
extern const struct op_part_ops op_part_probes;
extern const struct op_part_ops op_part_rules;
extern const struct op_part_ops op_part_threads;

int op_parts_new(const struct op_part_config *config, struct op_parts **ret);
struct op_parts *op_parts_free(struct op_parts *p);
OP_DEFINE_CLEANUP(struct op_parts *, op_parts_free)

/* See op_part_ops. All parts are called. Returns the first error. */
int op_parts_set_kinds(struct op_parts *p, uint64_t kinds);
/* Poll the parts whose point in a poll is @when. */
void op_parts_poll(struct op_parts *p, enum op_part_when when,
		   struct op_allowance *allowance, struct op_window *window);
/* The earliest time at which a part wants a poll (CLOCK_MONOTONIC). 0: none. */
uint64_t op_parts_next_ns(const struct op_parts *p);
/* A snapshot that is not complete is logged. */
void op_parts_snapshot(struct op_parts *p, struct op_window *window,
		       enum op_part_end end);
/* Samples of polls and snapshots since the handle was made. */
const struct op_part_taken *op_parts_taken(const struct op_parts *p);
void op_parts_get_stats(const struct op_parts *p, struct otelprof_stats *ret);

/* Parts that public calls use: */
struct op_probes *op_parts_probes(const struct op_parts *p);
struct op_rule_set *op_parts_targets(const struct op_parts *p);

#endif
