/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where goroutines wait, and how long (the kind goroutine_waits). Time is cut into
 * intervals. At a random moment of each interval the library reads the goroutines, and
 * each one that waits counts for the length of the interval. So each sum is right on
 * average, however short the waits are. Programs pay nothing. A probe at each park and
 * wake-up would cost more than most of them take.
 */
#ifndef OP_PARTS_GOROUTINES_WAITS_H
#define OP_PARTS_GOROUTINES_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "parts/goroutines/processes.h"
#include "parts/goroutines/visit.h"
#include "parts/parts.h"

struct op_golang_waits {
	struct op_golang_processes *go_processes; /* borrowed */
	struct op_processes *processes;		  /* borrowed */
	struct op_log *log;			  /* borrowed */
	struct op_golang_queue queue;
	struct op_golang_visit visit;
	uint64_t period_ns; /* the shortest interval */
	uint64_t random;
	uint64_t listed_ns; /* 0: never */
	/* The current interval: */
	uint64_t begin_ns;
	uint64_t length_ns; /* 0: no interval has begun */
	uint64_t at_ns;	    /* its moment */
	/* The look at its goroutines: */
	bool looks;
	uint64_t next_ns; /* when it continues */
	uint64_t cost_ns; /* CPU time */
};

void op_golang_waits_init(struct op_golang_waits *w,
			  struct op_golang_processes *go_processes,
			  const struct op_part_config *config);
void op_golang_waits_deinit(struct op_golang_waits *w);
/* Look at the goroutines if it is time. @program lists the processes. Negative: the
 * kind is off. */
void op_golang_waits_poll(struct op_golang_waits *w, int program,
			  struct op_allowance *allowance, struct op_window *window,
			  struct op_part_taken *taken);
/* Complete the current look because @window ends, at most until @until_ns. */
void op_golang_waits_finish(struct op_golang_waits *w, int program,
			    struct op_window *window, uint64_t until_ns,
			    struct op_part_taken *taken);
/* When to poll next; 0: the kind is off. */
uint64_t op_golang_waits_next_ns(const struct op_golang_waits *w);

#endif
