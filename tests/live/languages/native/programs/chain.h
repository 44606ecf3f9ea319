/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose stacks and shares of CPU time are known by construction: a chain of
 * named functions f24 → … → f1, then leaf_a, leaf_b or leaf_c, which spend 50, 30 and 20 %
 * of the thread's CPU time by the thread's own CPU clock. The rest, going up and down the
 * chain some 150 times a second, is below 0.1 %.
 *
 * A cycle's length changes from one to the next (15–25 ms), so that it cannot keep step
 * with the sampling clock. Each leaf works up to a fixed point of the CPU clock: what one
 * overruns the next starts late, so the errors cancel instead of adding up.
 */
#ifndef TRUTH_CHAIN_H
#define TRUTH_CHAIN_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Neither inlined nor cloned; and, by the KEEP after each call, never a tail call. */
#if defined(__clang__)
#define TRUTH_FN __attribute__((noinline))
#else
#define TRUTH_FN __attribute__((noinline, noclone, noipa))
#endif
#define KEEP() __asm__ volatile("" ::: "memory")

enum leaf {
	LEAF_A,
	LEAF_B,
	LEAF_C
};

struct job {
	enum leaf leaf;
	uint64_t until_ns; /* on the thread's CPU clock */
	volatile uint64_t spins;
};

static inline uint64_t truth_cpu_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Iterations of a leaf between two readings of the clock: 20000 take about 20 µs. */
#ifndef TRUTH_LOOPS
#define TRUTH_LOOPS 20000
#endif

#ifndef TRUTH_SPIN
#define TRUTH_SPIN(j)                                                                    \
	do {                                                                             \
		for (int _i = 0; _i < TRUTH_LOOPS; _i++)                                 \
			(j)->spins++;                                                    \
	} while (0)
#endif

/* Factor by which a cycle is longer than 15–25 ms. */
#ifndef TRUTH_CYCLES
#define TRUTH_CYCLES 1
#endif

#define TRUTH_LEAF(name)                                                                 \
	TRUTH_FN void name(struct job *j)                                                \
	{                                                                                \
		while (truth_cpu_ns() < j->until_ns)                                     \
			TRUTH_SPIN(j);                                                   \
		KEEP();                                                                  \
	}

/* A link of the chain that only calls the next. */
#define TRUTH_LINK(name, next)                                                           \
	TRUTH_FN void name(struct job *j)                                                \
	{                                                                                \
		next(j);                                                                 \
		KEEP();                                                                  \
	}

/* A link with values that live across the call, in callee-saved registers and on the stack. */
#define TRUTH_LINK_FAT(name, next)                                                       \
	TRUTH_FN void name(struct job *j)                                                \
	{                                                                                \
		uint64_t a = j->spins, b = j->until_ns, c = a ^ b, d = a + b, e = a * 3; \
		char room[sizeof(#name) * 40];                                           \
                                                                                         \
		__asm__ volatile("" : : "r"(room) : "memory");                           \
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));      \
		next(j);                                                                 \
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));      \
		__asm__ volatile("" : : "r"(room) : "memory");                           \
	}

#ifndef TRUTH_WIDE
#define TRUTH_WIDE TRUTH_LINK_FAT
#endif

typedef void (*truth_fn)(struct job *);

/* Run the chain for @cpu_ns of this thread's CPU time. Not inlined, because it is below
 * f24. */
static TRUTH_FN void truth_run(truth_fn top, uint64_t cpu_ns)
{
	struct job j = { LEAF_A, 0, 0 };
	uint64_t start = truth_cpu_ns();
	uint64_t at = start;
	uint64_t random = 88172645463325252u;

	while (at - start < cpu_ns) {
		uint64_t cycle_ns;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		cycle_ns = (15000000 + random % 10000000) * TRUTH_CYCLES;
		j.leaf = LEAF_A;
		j.until_ns = at + cycle_ns / 2;
		top(&j);
		j.leaf = LEAF_B;
		j.until_ns = at + cycle_ns * 8 / 10;
		top(&j);
		j.leaf = LEAF_C;
		j.until_ns = at + cycle_ns;
		top(&j);
		at += cycle_ns;
	}
}

/* The whole program: argv[1] is seconds of CPU time. Prints at the end how much
 * it used. */
static inline int truth_main(int argc, char **argv, truth_fn top)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	struct timespec ts;

	(void)printf("ready %d\n", (int)getpid());
	(void)fflush(stdout);
	truth_run(top, (uint64_t)(seconds * 1e9));
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	(void)printf("cpu_ns %lld\n", (long long)ts.tv_sec * 1000000000 + ts.tv_nsec);
	return 0;
}

#endif
