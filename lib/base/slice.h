/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slice of time for work that may be long. A function that takes one ends with
 * -EINPROGRESS when it is over, keeps what it has done, and goes on at the next call. It
 * does a little in each call whatever the slice, so that it comes to an end.
 */
#ifndef OP_BASE_SLICE_H
#define OP_BASE_SLICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/io.h"

enum {
	OP_SLICE_STEPS = 16, /* between two looks at the clock */
};

struct op_slice {
	uint64_t end_ns; /* CLOCK_MONOTONIC; 0: it has no end */
	uint64_t half_ns;
	uint32_t steps; /* until the next look */
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

/* Is there no time left? @s may be NULL: then there always is. */
static inline bool op_slice_is_over(struct op_slice *s)
{
	if (!s || !s->end_ns)
		return false;
	s->over = s->over || op_clock_monotonic_ns() >= s->end_ns;
	return s->over;
}

/* Is more than half of it gone? For what takes longer than a slice and cannot be parted. */
static inline bool op_slice_is_used(struct op_slice *s)
{
	return s && s->end_ns && op_clock_monotonic_ns() >= s->half_ns;
}

/* op_slice_is_over(), asked for after each of many small steps. */
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
