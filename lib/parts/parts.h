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
#include "base/drops.h"

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

/* All of it is borrowed until the part is freed. */
struct op_part_config {
	struct op_log *log;
	struct op_capture *capture;
	struct op_processes *processes;
	struct op_sampler *sampler;
	struct op_mapped *mapped; /* op_parts_new() sets it */
	const char *sysfs_root;
	uint32_t sample_rate_hz;
};

/* Samples that a part took, and those of them that were dropped. */
struct op_part_taken {
	uint64_t taken;
	uint64_t dropped[OP_DROPS];
};

static inline void op_part_drop(struct op_part_taken *t, enum op_drop why, uint64_t n)
{
	t->taken += n;
	t->dropped[why] += n;
}

/* Count one sample. @result: 0, or the -errno for which it was dropped. */
static inline void op_part_count(struct op_part_taken *t, int result)
{
	if (result >= 0)
		t->taken++;
	else
		op_part_drop(t,
			     result == -ENOSPC	 ? OP_DROP_WINDOW
			     : result == -ENOMEM ? OP_DROP_MEMORY
						 : OP_DROP_RECORD,
			     1);
}

/* When in a poll a part goes on. */
enum op_part_when {
	OP_PART_AFTER_RING,  /* the ring and the side-band had new processes and files */
	OP_PART_BEFORE_RING, /* the ring may take most of the poll's time */
};

/* Why the window ends. */
enum op_part_end {
	OP_PART_END_EXPORT,
	OP_PART_END_RATE,   /* the rate changes before the window's time is over */
	OP_PART_END_BUDGET, /* the same in a poll, which has no time for a snapshot */
	OP_PART_END_STOP,   /* sampling is about to stop */
	OP_PART_END_LAST,   /* it has stopped, and its last records are in the window */
};

/* Functions that a part has no use for are NULL. */
struct op_part_ops {
	const char *name;
	enum op_part_when when;
	/* What is in *@ret is freed, also after a failure. Without it, the part is @config. */
	int (*make)(const struct op_part_config *config, void **ret);
	void (*free)(void *part);
	/* Attach what the kinds @kinds need, and detach the rest; 0: nothing is sampled. Returns
	 * 0, or -errno with a sentence. */
	int (*set_kinds)(void *part, uint64_t kinds);
	/* Go on with what is under way, for a share of @allowance. */
	void (*poll)(void *part, struct op_allowance *allowance, struct op_window *window,
		     struct op_part_taken *taken);
	/* When to poll next (CLOCK_MONOTONIC); 0: nothing is under way. */
	uint64_t (*next_ns)(const void *part);
	/* Add a snapshot to @window, which ends. Returns 0, or -errno if it is not complete. */
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

/* See op_part_ops. All parts are set; the first error is returned. */
int op_parts_set_kinds(struct op_parts *p, uint64_t kinds);
/* Poll those that go on at @when. */
void op_parts_poll(struct op_parts *p, enum op_part_when when,
		   struct op_allowance *allowance, struct op_window *window);
/* The earliest time to poll one (CLOCK_MONOTONIC); 0: none. */
uint64_t op_parts_next_ns(const struct op_parts *p);
/* Snapshots that are not complete are logged. */
void op_parts_snapshot(struct op_parts *p, struct op_window *window,
		       enum op_part_end end);
/* What polls and snapshots took until now. */
const struct op_part_taken *op_parts_taken(const struct op_parts *p);
void op_parts_get_stats(const struct op_parts *p, struct otelprof_stats *ret);

/* Those that public calls use. */
struct op_probes *op_parts_probes(const struct op_parts *p);
struct op_rule_set *op_parts_targets(const struct op_parts *p);

#endif
