/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which allocations are sampled. Sampled bytes are a Poisson process over all
 * bytes that a thread allocates: the distances between them are exponential, with the
 * interval R as mean. An allocation of S bytes contains at least one with probability 1 -
 * exp(-S/R). It is reported once, with the weight S / (1 - exp(-S/R)), so that sums of
 * weights have the right expected value. The process has no memory: the next distance
 * begins where the allocation ends.
 *
 * libm is not used here; the few functions needed of it are a page of arithmetic.
 */
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "op_user_types.h"
#include "preload/heap/sampler.h"

enum {
	FAR_INTERVALS = 40, /* 1 - exp(-40) is 1 in double precision */
	/* exp(x) is computed as exp(x / 1024), squared this many times */
	HALVINGS = 10,
	RANDOM_BITS = 53,
	MANTISSA_BITS = 52,
	EXPONENT_BIAS = 1023,
};

#define INTERVAL_MAX (UINT64_C(1) << 40) /* a weight that the profiler takes */

__thread struct op_preload_thread op_preload_thread
	__attribute__((tls_model("initial-exec")));

static uint64_t interval = OP_HEAP_INTERVAL_DEFAULT;
static uint64_t threads; /* number of threads that have random numbers */

void op_preload_set_interval(uint64_t bytes)
{
	interval = bytes;
}

/* The natural logarithm of @x, which is positive and normal, to 1e-13. */
static double log_of(double x)
{
	static const double LN2 = 0.69314718055994530942;
	union {
		double value;
		uint64_t bits;
	} u = { .value = x };
	int64_t exponent = (int64_t)(u.bits >> MANTISSA_BITS) - EXPONENT_BIAS;
	double t;
	double square;
	double sum = 0;
	int i;

	u.bits &= (UINT64_C(1) << MANTISSA_BITS) - 1;
	u.bits |= (uint64_t)EXPONENT_BIAS << MANTISSA_BITS;
	if (u.value > 1.41421356) {
		u.value /= 2;
		exponent++;
	}
	/* 2 artanh((m - 1) / (m + 1)); the argument is at most 0.172 */
	t = (u.value - 1) / (u.value + 1);
	square = t * t;
	for (i = 17; i > 0; i -= 2)
		sum = sum * square + 1.0 / i;
	return (double)exponent * LN2 + 2 * t * sum;
}

/* 1 - exp(-@x), @x from 0 to FAR_INTERVALS. */
static double rising(double x)
{
	double y = x / (1 << HALVINGS);
	double p;
	int i;

	/* Computes 1 - exp(-y) directly; 1 minus a rounded exp(-y) would lose
	 * the digits. */
	p = y * (1 - y / 2 * (1 - y / 3 * (1 - y / 4 * (1 - y / 5 * (1 - y / 6)))));
	for (i = 0; i < HALVINGS; i++)
		p = p * (2 - p);
	return p;
}

uint64_t op_preload_weight(uint64_t size, uint64_t mean)
{
	double x = (double)size / (double)mean;

	if (x >= FAR_INTERVALS)
		return size;
	return (uint64_t)((double)size / rising(x) + 0.5);
}

/* SplitMix64. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Seed the random numbers of a new thread, or of the child of a fork. */
static void seed(struct op_preload_thread *t, int32_t pid)
{
	const void *given = (const void *)getauxval(AT_RANDOM); /* 16 bytes, or NULL */
	uint64_t number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
	uint64_t state = 0;

	if (given)
		(void)memcpy(&state, given, sizeof(state));
	state ^= (uint64_t)(uint32_t)pid << 32 ^ number;
	t->random = next_random(&state) | 1;
	t->pid = pid;
}

/* The mean for the next sample. It doubles and doubles again as the table of addresses
 * fills, so that it never becomes full. */
static uint64_t mean_now(void)
{
	uint32_t n =
		op_heap_doublings(op_preload_addresses_held(), OP_PRELOAD_ADDRESSES_MAX);

	if (interval > INTERVAL_MAX >> n)
		return interval > INTERVAL_MAX ? interval : INTERVAL_MAX;
	return interval << n;
}

static int64_t draw(struct op_preload_thread *t)
{
	uint64_t bits = next_random(&t->random) >> (64 - RANDOM_BITS);

	t->interval = mean_now();

	/* in (0, 1], because 0 has no logarithm */
	return (int64_t)(-log_of(((double)bits + 1) /
				 (double)(UINT64_C(1) << RANDOM_BITS)) *
			 (double)t->interval);
}

uint64_t op_preload_sample(uint64_t size)
{
	struct op_preload_thread *t = &op_preload_thread;
	bool is_new = !t->random;
	int32_t pid = getpid();
	uint64_t weight;

	if (t->pid != pid)
		seed(t, pid);
	if (is_new) {
		/* a new thread's countdown has not begun yet */
		t->left = draw(t) - (int64_t)size;
		if (t->left >= 0)
			return 0;
	}
	weight = op_preload_weight(size, t->interval);
	t->left = draw(t);
	return weight;
}
