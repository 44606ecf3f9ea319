/* SPDX-License-Identifier: Apache-2.0 */
/* The heaps of all Go processes that the filter includes, at the end of each window.
 * When the kind is switched on, a first snapshot only notes what they have allocated
 * before. */
#ifndef OP_PARTS_GOROUTINES_HEAPS_H
#define OP_PARTS_GOROUTINES_HEAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "parts/goroutines/heap.h"
#include "parts/goroutines/processes.h"
#include "parts/parts.h"

struct op_golang_heaps {
	struct op_golang_processes *go_processes; /* borrowed */
	struct op_log *log;			  /* borrowed */
	struct op_golang_queue queue;
	uint32_t round; /* number of the last snapshot; 0: the kind is off */
	/* when the kind was switched on (CLOCK_MONOTONIC); 0: it is off */
	uint64_t on_ns;
	uint64_t listed_ns; /* when its processes were listed */
	bool noting;	    /* the first snapshot, which only notes, is under way */
	uint64_t next_ns;
	struct op_golang_heap heap;
};

void op_golang_heaps_init(struct op_golang_heaps *h,
			  struct op_golang_processes *go_processes,
			  const struct op_part_config *config);
void op_golang_heaps_deinit(struct op_golang_heaps *h);
/* @program: the iterator that lists the processes, or a negative number if the kind is
 * off. Continues the first snapshot for a share of @allowance. */
void op_golang_heaps_poll(struct op_golang_heaps *h, int program,
			  struct op_allowance *allowance, struct op_part_taken *taken);
/* When to call op_golang_heaps_poll() next (CLOCK_MONOTONIC). 0: no work is left. */
uint64_t op_golang_heaps_next_ns(const struct op_golang_heaps *h);
/* Add the heaps to @window, until @until_ns (op_allowance_now()). The next snapshot
 * begins with the process at which this one stops. */
void op_golang_heaps_finish(struct op_golang_heaps *h, int program,
			    struct op_window *window, uint64_t until_ns,
			    struct op_part_taken *taken);

#endif
