/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that do what a kind of events counts, in bursts of random lengths and sizes, and count for
 * themselves:
 *
 *     PROGRAM WHAT SEED [ARGUMENT...]
 *
 * Such a program waits for two lines of input and does a little after the first one, so that the
 * profiler gets to know it. What it does after the second one is below counted(), mostly from
 * first() or second(). Then it prints that in JSON, and waits until it is killed.
 */
#ifndef NUMBERS_BURSTS_H
#define NUMBERS_BURSTS_H

#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PLACE	 __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))
#define STAYS(i) __asm__ volatile("" : : "r"(i) : "memory")

enum {
	NS_PER_S = 1000000000,
	US = 1000, /* in ns */
	MS = 1000000,
	PAGE = 4096,
	PLACES = 2,
	KNOWN = 8, /* bursts that the profiler gets to know */
};

/* ---- chance and clocks ---- */

static uint64_t state;

static uint64_t chance(void)
{
	uint64_t x = state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint64_t below(uint64_t n)
{
	return chance() % n;
}

/* A length whose logarithm is even between those of @least and of @least * 2^@doubles. */
static inline int64_t mixed(int64_t least, int doubles)
{
	return (int64_t)((double)least *
			 exp2((double)(chance() >> 11) * 0x1p-53 * doubles));
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Sleep, or work if it is short. */
static PLACE void spend(int64_t ns)
{
	struct timespec t = { ns / NS_PER_S, ns % NS_PER_S };
	int64_t end = clock_ns(CLOCK_MONOTONIC) + ns;

	if (ns > 200 * US)
		(void)nanosleep(&t, NULL);
	while (clock_ns(CLOCK_MONOTONIC) < end)
		;
	STAYS(ns);
}

static void fail(const char *what)
{
	perror(what);
	_exit(1);
}

/* The clocks of a thread that waits. */
struct clocks {
	int task; /* perf's */
	int stat; /* /proc/thread-self/schedstat */
};

static inline struct clocks open_clocks(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_TASK_CLOCK };
	struct clocks c = {
		(int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC),
		open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC),
	};

	if (c.task < 0 || c.stat < 0)
		fail("clocks");
	return c;
}

/*
 * A wait by the clocks of its thread: bounds of the time off the CPUs (tests/harness/on_cpu.h says
 * why), how much of it was spent ready for a CPU, and all of it.
 */
struct wait {
	int64_t least;
	int64_t most;
	int64_t ready;
	int64_t lived;
	int place;
};

static inline int64_t ready_ns(const struct clocks *c)
{
	char text[128] = "";
	long long ns = 0;

	if (pread(c->stat, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%*u %lld", &ns) != 1)
		fail("schedstat");
	return ns;
}

static inline int64_t task_ns(const struct clocks *c)
{
	int64_t ns;

	if (read(c->task, &ns, sizeof(ns)) != sizeof(ns))
		fail("the task clock");
	return ns;
}

static inline void begin_wait(const struct clocks *c, struct wait *w)
{
	w->ready = -ready_ns(c);
	w->least = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	w->lived = -clock_ns(CLOCK_MONOTONIC);
	w->most = task_ns(c);
}

static inline void end_wait(const struct clocks *c, struct wait *w)
{
	w->most -= task_ns(c);
	w->lived += clock_ns(CLOCK_MONOTONIC);
	w->least += w->lived - clock_ns(CLOCK_THREAD_CPUTIME_ID);
	w->most += w->lived;
	w->ready += ready_ns(c);
}

static inline void print_waits(const char *name, const struct wait *w, int n)
{
	int i;

	printf("\"%s\": [", name);
	for (i = 0; i < n; i++)
		printf("%s[%lld, %lld, %lld, %lld, %d]", i ? ", " : "",
		       (long long)w[i].least, (long long)w[i].most, (long long)w[i].ready,
		       (long long)w[i].lived, w[i].place);
	printf("]");
}

/* ---- places ---- */

static PLACE void first(void (*what)(int, int), int n)
{
	what(0, n);
	STAYS(n);
}

static PLACE void second(void (*what)(int, int), int n)
{
	what(1, n);
	STAYS(n);
}

/* From a random one of the two places. */
static inline void anywhere(void (*what)(int, int), int n)
{
	if (below(PLACES))
		second(what, n);
	else
		first(what, n);
}

/* ---- */

static void read_line(void)
{
	int c;

	do
		c = getchar();
	while (c != '\n' && c != EOF);
}

static PLACE void known(void (*what)(int), int bursts)
{
	what(bursts);
	STAYS(bursts);
}

static PLACE void counted(void (*what)(int), int bursts)
{
	what(bursts);
	STAYS(bursts);
}

/* What such a program can do. */
struct what {
	const char *name;
	void (*what)(int bursts);
	int bursts;
	int arguments;
	void (*prepare)(char **arguments);
	void (*print)(void);
};

static int run(const struct what *w, size_t n, int argc, char **argv)
{
	while (n && argc > 2 && strcmp(w->name, argv[1])) {
		n--;
		w++;
	}
	if (!n || argc != 3 + w->arguments)
		return 2;
	state = strtoull(argv[2], NULL, 10);
	(void)prctl(PR_SET_TIMERSLACK, 1);
	w->prepare(argv + 3);
	printf("ready %d\n", (int)getpid());
	(void)fflush(stdout);
	read_line();
	known(w->what, KNOWN);
	puts("known");
	(void)fflush(stdout);
	read_line();
	counted(w->what, w->bursts);
	printf("{");
	w->print();
	puts("}");
	(void)fflush(stdout);
	return pause();
}

#endif
