/* SPDX-License-Identifier: Apache-2.0 */
/* Three functions that take 50, 30 and 20 % of the thread's CPU time, for so many seconds of it. */
#include <stdlib.h>
#include <time.h>

#define LEAF __attribute__((noinline, noclone))
static volatile unsigned long value;

static double used(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Each with a factor of its own: of equal functions a compiler keeps one. */
#define DEFINE_LEAF(name, factor)                                                        \
	LEAF static void name(double until)                                              \
	{                                                                                \
		long i;                                                                  \
                                                                                         \
		while (used() < until) {                                                 \
			for (i = 0; i < 20000; i++)                                      \
				value = value * factor + 1;                              \
		}                                                                        \
	}
DEFINE_LEAF(leaf_half, 3)
DEFINE_LEAF(leaf_third, 5)
DEFINE_LEAF(leaf_fifth, 7)

/* The first has 80 %. What follows a call keeps it from being a jump. */
LEAF static void first_part(double at)
{
	leaf_half(at + 0.05);
	leaf_third(at + 0.08);
	value++;
}

LEAF static void second_part(double at)
{
	leaf_fifth(at + 0.1);
	value++;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5, end = used() + seconds, at;

	for (at = used(); at < end; at += 0.1) {
		first_part(at);
		second_part(at);
	}
	return 0;
}
