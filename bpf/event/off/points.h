/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides which intervals of a CPU are taken, and what each stands for.
 *
 * All intervals at least as long as the threshold T are taken. Shorter ones of a CPU
 * are laid end to end and cut into pieces of length T, each with a random point. An
 * interval that contains a point is taken, and each point stands for T. So an interval
 * of length d < T is taken with probability d / T. Every sum is right on average, with
 * less noise than from an independent random choice for each interval. T follows the
 * budget of samples per second. A piece keeps the T with which it began. T changes when
 * points were met, so ending a piece then would make sums wrong.
 *
 * The includer provides bpf_get_prandom_u32().
 */
#ifndef OP_OFF_POINTS_H
#define OP_OFF_POINTS_H

#define OP_OFF_WINDOW_NS 100000000ULL /* how often T is adapted */
#ifndef OP_OFF_FIRST_NS
#define OP_OFF_FIRST_NS 1000000ULL /* the first T, if the includer sets no other */
#endif
#define OP_OFF_LEAST_NS	 1000ULL       /* of T */
#define OP_OFF_MOST_NS	 4000000000ULL /* of T: fits 32 bits */
#define OP_OFF_SECOND_NS 1000000000ULL
#define OP_OFF_RATIO_ONE 256 /* fixed point */

enum {
	OP_OFF_WINDOWS_A_SECOND = 10,
	/* The most points in an interval shorter than the T of this piece or of the
	 * next ones, before it covers a whole piece. */
	OP_OFF_POINTS_MAX = 3,
};

/* The state of a CPU's sampling. All 0: nothing was sampled yet. */
struct op_off_points {
	__u64 threshold_ns; /* T of the current piece */
	__u64 next_ns;	    /* T of the pieces after it */
	__u64 to_point_ns;  /* distance to the next point */
	__u64 after_ns;	    /* distance from that point to the end of its piece */
	__u64 window_ns;    /* when T was last adapted */
	__u64 hits;	    /* intervals taken since */
};

static __always_inline __u64 op_off_random(__u64 below)
{
	return (__u64)bpf_get_prandom_u32() * below >> 32;
}

/* Begin a piece @before ns from here. */
static __always_inline void op_off_begin_piece(struct op_off_points *p, __u64 before)
{
	__u64 point = op_off_random(p->next_ns);

	p->threshold_ns = p->next_ns;
	p->to_point_ns = before + point;
	p->after_ns = p->threshold_ns - point;
}

/* The next piece has the T @threshold. */
static __always_inline void op_off_set(struct op_off_points *p, __u64 threshold,
				       __u64 now)
{
	if (threshold < OP_OFF_LEAST_NS)
		threshold = OP_OFF_LEAST_NS;
	if (threshold > OP_OFF_MOST_NS)
		threshold = OP_OFF_MOST_NS;
	p->hits = 0;
	p->window_ns = now;
	p->next_ns = threshold;
	if (!p->threshold_ns)
		op_off_begin_piece(p, 0);
}

/* Adapt T to the @budget of samples a second: at the end of a window, or as soon as
 * twice the window's share is used. Returns whether it checked T. */
static __always_inline bool op_off_adapt(struct op_off_points *p, __u64 budget, __u64 now)
{
	__u64 elapsed = now - p->window_ns;
	__u64 ratio;

	if (!budget)
		budget = 1;
	if (!p->threshold_ns) {
		op_off_set(p, OP_OFF_FIRST_NS, now);
	} else if (elapsed >= OP_OFF_WINDOW_NS) {
		/* in microseconds, so that nothing overflows */
		ratio = p->hits * OP_OFF_RATIO_ONE * (OP_OFF_SECOND_NS / 1000) /
			(elapsed / 1000 * budget);
		if (ratio < OP_OFF_RATIO_ONE / 4)
			ratio = OP_OFF_RATIO_ONE / 4;
		if (ratio > OP_OFF_RATIO_ONE * 4)
			ratio = OP_OFF_RATIO_ONE * 4;
		/* within a quarter T stays, so that it is steady */
		if (ratio > OP_OFF_RATIO_ONE * 3 / 4 && ratio < OP_OFF_RATIO_ONE * 5 / 4)
			ratio = OP_OFF_RATIO_ONE;
		op_off_set(p, p->next_ns * ratio / OP_OFF_RATIO_ONE, now);
	} else if (p->hits > 2 * budget / OP_OFF_WINDOWS_A_SECOND) {
		op_off_set(p, p->next_ns * (elapsed < OP_OFF_WINDOW_NS / 8 ? 4 : 2), now);
	} else {
		return false;
	}
	return true;
}

/* The number of ns that the interval of length @d stands for. 0: it is not taken. */
static __always_inline __u64 op_off_weight(struct op_off_points *p, __u64 d)
{
	__u64 weight = 0;
	int i;

	if (d >= p->threshold_ns && d >= p->next_ns) {
		p->hits++;
		return d;
	}
#pragma unroll
	for (i = 0; i < OP_OFF_POINTS_MAX; i++) {
		__u64 after = p->after_ns;

		if (d < p->to_point_ns)
			break;
		d -= p->to_point_ns;
		weight += p->threshold_ns;
		if (d < after + p->next_ns) {
			op_off_begin_piece(p, after);
			continue;
		}
		/* It covers the next piece, and its time in later pieces counts in
		 * full. */
		weight += d - after;
		op_off_begin_piece(p, 0);
		d = 0;
		break;
	}
	p->to_point_ns -= d < p->to_point_ns ? d : p->to_point_ns;
	if (weight)
		p->hits++;
	return weight;
}

/*
 * The same by an independent random choice of d / T for each interval. It has more
 * noise. But it is also right if a sample changes the length of the next interval, as a
 * sample taken under a lock does.
 */
static __always_inline __u64 op_off_weight_alone(struct op_off_points *p, __u64 d)
{
	if (d < p->next_ns && op_off_random(p->next_ns) >= d)
		return 0;
	p->hits++;
	return d < p->next_ns ? p->next_ns : d;
}

#endif
