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

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5, end = used() + seconds, at;

	for (at = used(); at < end; at += 0.1) {
		leaf_half(at + 0.05);
		leaf_third(at + 0.08);
		leaf_fifth(at + 0.1);
	}
	return 0;
}
