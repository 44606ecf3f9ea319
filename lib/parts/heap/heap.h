/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kind heap: the static probes otel_memory:alloc and otel_memory:free of every
 * executable file that has them, and the sampled allocations that are still in use.
 *
 *   heap.c     the kind: on and off, files as they are mapped
 *   images.c   a file's probes, and the programs attached to them
 *   live.c     the stacks of what is in use, and a snapshot of it
 *   sampler/   libotelprof-heap.so, which programs preload: it has these probes
 *
 * A probe is attached to a file, and so to all processes that map it, including later
 * ones. The kernel's filter leaves out processes that are not wanted.
 */
#ifndef OP_PARTS_HEAP_HEAP_H
#define OP_PARTS_HEAP_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/allowance.h"
#include "base/cleanup.h"

struct op_capture;
struct op_heap;
struct op_log;
struct op_processes;
struct op_sampler;
struct op_window;

struct op_heap_config {
	struct op_log *log;
	struct op_capture *capture; /* these three: borrowed until op_heap_free() */
	struct op_processes *processes;
	struct op_sampler *sampler;
	const char *sysfs_root; /* borrowed */
};

/* The result of a snapshot. */
struct op_heap_taken {
	uint64_t taken;
	uint64_t dropped_window; /* they did not fit into the window */
	uint64_t dropped_memory;
};

struct op_heap_stats {
	uint64_t live;	    /* sampled allocations in use at the last snapshot */
	uint64_t images;    /* files with probes */
	uint64_t untracked; /* in use, but their stack is unknown */
};

int op_heap_new(const struct op_heap_config *config, struct op_heap **ret);
struct op_heap *op_heap_free(struct op_heap *h);
OP_DEFINE_CLEANUP(struct op_heap *, op_heap_free)

/* Attach to all files that are mapped now or later; @on false: detach from all. Returns
 * 0, or -errno with a sentence. */
int op_heap_switch(struct op_heap *h, bool on);
/* Examine files that were mapped since the last call, for a share of @turn. Returns whether
 * there was no time for all. */
bool op_heap_poll(struct op_heap *h, struct op_allowance *allowance);
/* Add what is in use to @window; adds to *@ret. Returns 0 or -errno. */
int op_heap_snapshot(struct op_heap *h, struct op_window *window,
		     struct op_heap_taken *ret);
void op_heap_get_stats(const struct op_heap *h, struct op_heap_stats *ret);

#endif
