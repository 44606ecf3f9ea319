/* SPDX-License-Identifier: Apache-2.0 */
/* A program that does nothing but allocate and free: the worst case for who watches allocations.
 * Prints a line with the CPU time of a pair of calls, in ns, for each half second.
 *
 *     malloc_loop BYTES LINES
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	PAIRS = 10000,
};

#define LINE_NS 5e8

static double cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 64;
	int lines = argc > 2 ? atoi(argv[2]) : 4;

	while (lines--) {
		double begin = cpu_ns();
		double took;
		double pairs = 0;
		int i;

		do {
			for (i = 0; i < PAIRS; i++) {
				void *volatile p = malloc(bytes);

				free(p);
			}
			pairs += PAIRS;
			took = cpu_ns() - begin;
		} while (took < LINE_NS);
		printf("%.2f\n", took / pairs);
		(void)fflush(stdout);
	}
	return 0;
}
