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
#include "base/macros.h"

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

/*
 * The time that one poll works. Each part of the work takes a share of it and no more than is
 * left, so that a poll ends in time, and yet no part keeps the others from their turn. What there
 * is no time for is left to the next poll.
 */
enum {
	OP_TURN_DEFAULT_MS = 20,
	OP_TURN_MAX_MS = 1000,
	/* where nothing is left, a part gets one of so many: all work is done some day, however
	 * long other parts take */
	OP_TURN_LEAST = 20,
	/* a poll that worked for less than one of so many parts left its work for another reason
	 * than time */
	OP_TURN_LITTLE = 8,
};

struct op_turn {
	uint64_t end_ns;   /* CLOCK_MONOTONIC; 0: it has no end */
	uint64_t whole_ns; /* 0: the default */
};

static inline struct op_turn op_turn_begin(uint32_t ms)
{
	uint64_t whole_ns = (uint64_t)(ms ? ms : OP_TURN_DEFAULT_MS) * OP_NS_PER_MS;

	return (struct op_turn){ op_clock_monotonic_ns() + whole_ns, whole_ns };
}

static inline uint64_t op_turn_share(const struct op_turn *t, uint32_t parts)
{
	uint64_t whole_ns =
		t->whole_ns ? t->whole_ns : OP_TURN_DEFAULT_MS * (uint64_t)OP_NS_PER_MS;

	return whole_ns / parts;
}

/* When a part of the work ends that begins at @now_ns and gets one of @parts. */
static inline uint64_t op_turn_part(const struct op_turn *t, uint64_t now_ns,
				    uint32_t parts)
{
	uint64_t end_ns = now_ns + op_turn_share(t, parts);

	if (!t->end_ns)
		return end_ns;
	return OP_MAX(OP_MIN(end_ns, t->end_ns),
		      now_ns + op_turn_share(t, OP_TURN_LEAST));
}

/* Was there much work until @now_ns? */
static inline bool op_turn_is_used(const struct op_turn *t, uint64_t now_ns)
{
	return now_ns + t->whole_ns >= t->end_ns + op_turn_share(t, OP_TURN_LITTLE);
}

#endif
