/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What work may use: time, CPU time and bytes. A handle has one allowance, which is
 * passed down to all work. NULL allows everything.
 *
 * Time: a poll has a limit, and each work in it a part, until @end_ns. Time while other
 * threads use the CPU does not count, because on a busy machine a poll would do next to
 * nothing. A function whose time is over returns -EINPROGRESS, keeps what it has done,
 * and continues at the next call. Each call does at least a little, so that all work
 * finishes.
 *
 * CPU time: a budget limits work that no sample rate lowers, which is unwind tables and
 * indices of names. Work that begins while some is left may use more, and owes the
 * difference.
 *
 * Bytes: whoever needs much user memory, for a moment or for long, asks first.
 */
#ifndef OP_BASE_ALLOWANCE_H
#define OP_BASE_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/io.h"
#include "base/macros.h"

enum {
	OP_ALLOWANCE_STEPS = 16, /* steps between two readings of the clock */
	OP_POLL_DEFAULT_MS = 20,
	OP_POLL_MAX_MS = 1000,
	OP_POLL_NS_A_MS = 1000000,
	/* with no time left, a part gets one of so many parts, so that all work
	 * finishes */
	OP_POLL_LEAST = 20,
	/* The last of so many parts is for work that cannot be divided and begins just before
	 * the end, and for what each part gets with no time left. */
	OP_POLL_RESERVE = 5,
	/* a poll that worked for less than one of so many parts did not end because of
	 * time */
	OP_POLL_LITTLE = 8,
};

struct op_allowance {
	/* The current work: */
	struct op_work_clock clock;
	uint64_t end_ns; /* on that clock; 0: no limit */
	uint64_t half_ns;
	uint32_t steps; /* until the next reading of the clock */
	bool over;
	bool hurry; /* no poll follows: skip work that has no time left */
	bool brief; /* op_allowance_is_brief() */
	/* The poll: */
	uint64_t poll_end_ns; /* 0: it has no end */
	uint64_t poll_ns;     /* 0: the default */
	/* CPU time: */
	bool cpu_limited;
	bool cpu_was_out;     /* set if CPU time ran out. The reader resets it. */
	int64_t cpu_left_ns;  /* CPU time left; negative: owed */
	uint64_t cpu_used_ns; /* CPU time used in all, while it is limited */
	/* May so many bytes be used without coming near the limit? @needed: up to the
	 * limit. It may evict what is needed less. NULL: always. */
	bool (*may_take)(void *ctx, uint64_t bytes, bool needed);
	void *may_take_ctx;
};

/* The present time, for limits of work. */
static inline uint64_t op_allowance_now(struct op_allowance *a)
{
	return a ? op_clock_work_ns(&a->clock) : op_clock_monotonic_ns();
}

/* From now on work ends at @end_ns. 0: it has no end. */
static inline void op_allowance_until(struct op_allowance *a, uint64_t end_ns)
{
	uint64_t now_ns = end_ns ? op_allowance_now(a) : 0;
	uint64_t left_ns = end_ns > now_ns ? end_ns - now_ns : 0;

	if (!a)
		return;
	a->end_ns = end_ns;
	a->half_ns = now_ns + left_ns / 2;
	a->steps = OP_ALLOWANCE_STEPS;
	a->over = false;
}

/* An allowance of time only, for work inside that of @of. */
static inline struct op_allowance op_allowance_within(const struct op_allowance *of,
						      uint64_t end_ns)
{
	struct op_allowance a = { 0 };

	if (of)
		a.clock = of->clock;
	op_allowance_until(&a, end_ns);
	return a;
}

/* Is no time left? */
static inline bool op_allowance_is_over(struct op_allowance *a)
{
	if (!a || !a->end_ns)
		return false;
	a->over = a->over || op_allowance_now(a) >= a->end_ns;
	return a->over;
}

/* Is no time left, and does another poll follow? */
static inline bool op_allowance_must_wait(struct op_allowance *a)
{
	return a && !a->hurry && op_allowance_is_over(a);
}

/* Is more than half of the time used? For work that cannot be divided and may take too
 * long. */
static inline bool op_allowance_is_half_over(struct op_allowance *a)
{
	return a && a->end_ns && op_allowance_now(a) >= a->half_ns;
}

/* op_allowance_is_over() for many small steps: reads the clock only now and then. */
static inline bool op_allowance_step(struct op_allowance *a)
{
	if (!a || !a->end_ns)
		return false;
	if (!a->over && a->steps) {
		a->steps--;
		return false;
	}
	a->steps = OP_ALLOWANCE_STEPS;
	return op_allowance_is_over(a);
}

/*
 * Begin a poll of @ms (0: the default). Each part of its work gets a share of the time
 * that is left. So a poll ends in time, and no part starves the others.
 */
static inline void op_allowance_begin_poll(struct op_allowance *a, uint32_t ms)
{
	a->poll_ns = (uint64_t)(ms ? ms : OP_POLL_DEFAULT_MS) * OP_POLL_NS_A_MS;
	op_work_clock_begin(&a->clock);
	a->poll_end_ns = op_allowance_now(a) + a->poll_ns - a->poll_ns / OP_POLL_RESERVE;
}

static inline void op_allowance_end_poll(struct op_allowance *a)
{
	a->poll_end_ns = a->poll_ns = 0;
}

/* Is at most half of a poll's time left? For work that cannot be divided and takes as long
 * as a part: it waits for another poll. */
static inline bool op_allowance_poll_is_half_over(struct op_allowance *a)
{
	return a && a->poll_end_ns && !a->hurry &&
	       op_allowance_now(a) + a->poll_ns / 2 >= a->poll_end_ns;
}

/* One of @parts equal parts of a poll's time. */
static inline uint64_t op_allowance_share(const struct op_allowance *a, uint32_t parts)
{
	uint64_t poll_ns = a && a->poll_ns
				   ? a->poll_ns
				   : OP_POLL_DEFAULT_MS * (uint64_t)OP_POLL_NS_A_MS;

	return poll_ns / parts;
}

/* The end of a part of the work that begins at @now_ns and gets one of @parts. Both
 * times come from op_allowance_now(). */
static inline uint64_t op_allowance_part(const struct op_allowance *a, uint64_t now_ns,
					 uint32_t parts)
{
	uint64_t end_ns = now_ns + op_allowance_share(a, parts);

	if (!a || !a->poll_end_ns)
		return end_ns;
	return OP_MAX(OP_MIN(end_ns, a->poll_end_ns),
		      now_ns + op_allowance_share(a, OP_POLL_LEAST));
}

/* Was there much work in the poll until @now_ns? */
static inline bool op_allowance_has_worked(const struct op_allowance *a, uint64_t now_ns)
{
	return now_ns + a->poll_ns >= a->poll_end_ns + a->poll_ns / OP_POLL_RESERVE +
					      op_allowance_share(a, OP_POLL_LITTLE);
}

/* Is there CPU time left? */
static inline bool op_allowance_has_cpu(const struct op_allowance *a)
{
	return !a || !a->cpu_limited || a->cpu_left_ns > 0;
}

/* Must long work that cannot be divided wait for a later part of the poll? Without CPU time
 * there is no such part. */
static inline bool op_allowance_is_brief(const struct op_allowance *a)
{
	return a && a->brief && !a->hurry && op_allowance_has_cpu(a);
}

/* Allow @ns of CPU time from now on. 0 or less: none. */
static inline void op_allowance_give_cpu(struct op_allowance *a, int64_t ns)
{
	a->cpu_was_out |= !op_allowance_has_cpu(a) || ns <= 0;
	a->cpu_limited = true;
	a->cpu_left_ns = ns;
}

/* The thread's CPU time, if it is limited. */
static inline uint64_t op_allowance_begin_cpu(const struct op_allowance *a)
{
	return a && a->cpu_limited ? op_clock_thread_ns() : 0;
}

/* Count the CPU time since op_clock_thread_ns() was @begin_ns. */
static inline void op_allowance_take_cpu(struct op_allowance *a, uint64_t begin_ns)
{
	uint64_t ns;

	if (!a || !a->cpu_limited)
		return;
	ns = op_clock_thread_ns() - begin_ns;
	a->cpu_left_ns -= (int64_t)ns;
	a->cpu_used_ns += ns;
	a->cpu_was_out |= !op_allowance_has_cpu(a);
}

static inline bool op_allowance_may_take(const struct op_allowance *a, uint64_t bytes,
					 bool needed)
{
	return !a || !a->may_take || a->may_take(a->may_take_ctx, bytes, needed);
}

#endif
