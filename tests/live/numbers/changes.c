/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that change in the middle, and count for themselves:
 *
 *     changes bursts SECONDS CALLS   CALLS calls of place() from first() in each second, and 300 ms
 *                                    later as many from second()
 *     changes name SLEEPS            sleeps of 10 ms as "before", then SLEEPS more as "after":
 *                                    tells how long those took, in ns
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PLACE __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

enum {
	NS_PER_S = 1000000000,
	PAUSE_US = 300000,
	SLEEP_US = 10000,
	BEFORE = 20, /* sleeps */
};

PLACE void place(int i)
{
	__asm__ volatile("" : : "r"(i));
}

static PLACE void first(int calls)
{
	while (calls--)
		place(calls);
	__asm__ volatile("");
}

static PLACE void second(int calls)
{
	while (calls--)
		place(calls);
	__asm__ volatile("");
}

static int bursts(int seconds, int calls)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	for (; seconds--; t.tv_sec++) {
		first(calls);
		(void)usleep(PAUSE_US);
		second(calls);
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,
				      &(struct timespec){ t.tv_sec + 1, t.tv_nsec },
				      NULL);
	}
	return 0;
}

static int64_t sleep_ns(int times)
{
	struct timespec begin, end;

	(void)clock_gettime(CLOCK_MONOTONIC, &begin);
	while (times--)
		(void)usleep(SLEEP_US);
	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	return (int64_t)(end.tv_sec - begin.tv_sec) * NS_PER_S + end.tv_nsec -
	       begin.tv_nsec;
}

static int name(int times)
{
	(void)prctl(PR_SET_NAME, "before");
	(void)sleep_ns(BEFORE);
	(void)prctl(PR_SET_NAME, "after");
	printf("%lld\n", (long long)sleep_ns(times));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "bursts"))
		return bursts(atoi(argv[2]), atoi(argv[3]));
	if (argc == 3 && !strcmp(argv[1], "name"))
		return name(atoi(argv[2]));
	return 2;
}
