/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time for what no sample rate lowers: unwind tables, and the indices of names. Where a
 * budget limits it, it is given in parts. What is begun while some is left may take more than
 * that, which is owed then.
 */
#ifndef OP_PROCESS_IMAGE_WORK_BUDGET_H
#define OP_PROCESS_IMAGE_WORK_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/io.h"

struct op_work {
	bool limited;
	bool was_out;	  /* nothing was left at times; whoever looks at it resets it */
	int64_t left_ns;  /* of what was given; negative: owed */
	uint64_t used_ns; /* in all */
};

/* May such work be done now? */
static inline bool op_work_may(const struct op_work *w)
{
	return !w->limited || w->left_ns > 0;
}

/* From now on it may take @ns. */
static inline void op_work_allow(struct op_work *w, int64_t ns)
{
	w->was_out |= !op_work_may(w) || ns <= 0;
	w->limited = true;
	w->left_ns = ns;
}

static inline uint64_t op_work_begin(const struct op_work *w)
{
	return w->limited ? op_clock_thread_ns() : 0;
}

/* It was done since op_work_begin() returned @begin_ns. */
static inline void op_work_end(struct op_work *w, uint64_t begin_ns)
{
	uint64_t ns = w->limited ? op_clock_thread_ns() - begin_ns : 0;

	w->left_ns -= (int64_t)ns;
	w->used_ns += ns;
	w->was_out |= !op_work_may(w);
}

#endif
