/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slice of time for work that may be long. A function that takes a slice returns
 * -EINPROGRESS when the slice is over, keeps what it has done, and continues at the next
 * call. It does a little in each call, however short the slice, so that it always
 * finishes.
 */
#ifndef OP_BASE_SLICE_H
#define OP_BASE_SLICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/io.h"

enum {
	OP_SLICE_STEPS = 16, /* steps between two readings of the clock */
};

struct op_slice {
	uint64_t end_ns; /* CLOCK_MONOTONIC; 0: no limit */
	uint64_t half_ns;
	uint32_t steps; /* steps until the next reading of the clock */
	bool over;
};

static inline struct op_slice op_slice_until(uint64_t end_ns)
{
	uint64_t now_ns = end_ns ? op_clock_monotonic_ns() : 0;
	uint64_t left_ns = end_ns > now_ns ? end_ns - now_ns : 0;

	return (struct op_slice){ .end_ns = end_ns,
				  .half_ns = now_ns + left_ns / 2,
				  .steps = OP_SLICE_STEPS };
}

/* Is no time left? @s may be NULL: then there is no limit. */
static inline bool op_slice_is_over(struct op_slice *s)
{
	if (!s || !s->end_ns)
		return false;
	s->over = s->over || op_clock_monotonic_ns() >= s->end_ns;
	return s->over;
}

/* Is more than half of it used? For work that takes longer than a slice and cannot be
 * divided. */
static inline bool op_slice_is_used(struct op_slice *s)
{
	return s && s->end_ns && op_clock_monotonic_ns() >= s->half_ns;
}

/* op_slice_is_over() for many small steps: it reads the clock only now and then. */
static inline bool op_slice_step(struct op_slice *s)
{
	if (!s || !s->end_ns)
		return false;
	if (!s->over && s->steps) {
		s->steps--;
		return false;
	}
	s->steps = OP_SLICE_STEPS;
	return op_slice_is_over(s);
}

#endif
