/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Go's runtime itself keeps of a process, read from outside while the processes run, once
 * a window: all goroutines (the kind goroutines), and the memory profile (of the kind heap).
 *
 *   golang.c     snapshots of goroutines: rounds over the processes, in slices of time
 *   heaps.c      the same of heaps
 *   heap.c       the heap of one process
 *   buckets/     reads the runtime's memory profile and checks what it reads
 *   processes.c      the processes
 *   visit.c      the goroutines of one process
 *   process.c    what is known of a Go process
 *   variables.c       where its runtime has its variables
 *   goroutine.c  reads a goroutine and checks what it reads
 *   layout.c     members of runtime.g by version
 */
#ifndef OP_PARTS_GOROUTINES_GOLANG_H
#define OP_PARTS_GOROUTINES_GOLANG_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/slice.h"

struct op_capture;
struct op_golang;
struct op_log;
struct op_processes;
struct op_sampler;
struct op_window;

struct op_golang_config {
	struct op_log *log;
	struct op_capture *capture; /* these three: borrowed until op_golang_free() */
	struct op_processes *processes;
	struct op_sampler *sampler;
};

/* What calls did; they add to it. */
struct op_golang_taken {
	uint64_t taken;
	uint64_t dropped_window; /* they did not fit into the window */
	uint64_t dropped_memory;
	uint64_t dropped_record; /* they made no sense, or could not be read */
	uint64_t dropped_moved;	 /* they went on while their stack was read */
	uint64_t dropped_late;	 /* there was no time, or there were too many */
};

int op_golang_new(const struct op_golang_config *config, struct op_golang **ret);
struct op_golang *op_golang_free(struct op_golang *g);
OP_DEFINE_CLEANUP(struct op_golang *, op_golang_free)

/* If a kind is on, go on with this window's snapshot, for a share of @turn. */
void op_golang_poll(struct op_golang *g, struct op_window *window,
		    const struct op_turn *turn, struct op_golang_taken *taken);
/* When it is to be called again (CLOCK_MONOTONIC); 0: there is nothing to do. */
uint64_t op_golang_next_ns(const struct op_golang *g);
/* The window is about to be closed: end its snapshot, in @limit_ns. What is left then is
 * dropped, and the next snapshot begins with those processes. */
void op_golang_finish(struct op_golang *g, struct op_window *window, uint64_t limit_ns,
		      struct op_golang_taken *taken);

/* The next op_golang_finish() closes a window early: it takes no heaps, what they allocate is
 * told in the window after it; and that one gets no snapshot of goroutines. */
void op_golang_ends_early(struct op_golang *g);

#endif
