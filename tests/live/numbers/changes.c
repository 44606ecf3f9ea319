/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that change in the middle, and count for themselves:
 *
 *     changes bursts SECONDS CALLS   waits for two lines, CALLS calls of place() from first() in each second, and 300 ms
 *                                    later as many from second()
 *     changes name SLEEPS            sleeps of 10 ms as "before", then SLEEPS more as "after":
 *                                    tells how long those took, in ns
 *     changes user SLEEPS            the same, first as this user, then as NOBODY
 *     changes FOLDER SLEEPS          the same, first in this control group, then in that of FOLDER. At the
 *                                    end of each sleep of these three it wakes a thread
 *     changes live N                 waits for two lines, allocates N times at large() and 10 N at small(), frees a third
 *                                    of them, and tells how many bytes of each are in use; then it
 *                                    waits until it is killed
 *     changes strlen TIMES           waits for two lines, calls strlen(3) TIMES from measures()
 *     changes calls N                calls timed() N times from shorts() for 20 us each, a hundredth
 *                                    as often from longs() for 5 ms, from nests() in itself for 100 us,
 *                                    and leaves it by longjmp(3): tells of each of the three
 *                                    places how many calls returned, the ns that they took by this
 *                                    program's clock, and the ns that it waited for a CPU
 *     changes twins MS               two processes, "slow" and "fast", burn MS ms of CPU time each, in
 *                                    slow() and fast(), wait at a futex for as long, and allocate new
 *                                    pages
 *     changes kill N                 N processes of three threads each get SIGTERM at once
 */
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLACE __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

enum {
	NS_PER_S = 1000000000,
	PAUSE_US = 300000,
	SLEEP_US = 10000,
	BEFORE = 20, /* sleeps */
	NOBODY = 65534,
	THREADS = 3,
	MS_PER_S = 1000,
	PART_MS = 5,
	LARGE_BYTES = 16384,
	LARGE_TIMES = 16,
	SMALL_BYTES = 700,
	SMALL_TIMES = 10,
	FREED = 3,
	PAUSE_EVERY = 100,
	ATTACH_S = 2,
	SHORT_NS = 20000,
	LONG_NS = 5000000,
	LONGS = 100, /* one in so many */
	NESTED_NS = 100000,
	NESTED = 3,
	PAUSE_LIVE_US = 2000, /* below the limit of samples a second */
};

PLACE void place(int i)
{
	__asm__ volatile("" : : "r"(i));
}

static void read_line(void)
{
	int c;

	do
		c = getchar();
	while (c != '\n' && c != EOF);
}

/* The profiler gets to know the program and its libraries: twice until a line comes. */
static PLACE void wait_for_line(void)
{
	size_t (*volatile length)(const char *) = strlen;
	int i;

	printf("ready %d\n", (int)getpid());
	(void)fflush(stdout);
	read_line();
	for (i = 0; i < BEFORE; i++)
		place((int)length("some text to measure"));
	puts("known");
	(void)fflush(stdout);
	read_line();
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

	wait_for_line();
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	for (; seconds--; t.tv_sec++) {
		first(calls);
		(void)usleep(PAUSE_US);
		second(calls);
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,
				      &(struct timespec){ t.tv_sec + 1, t.tv_nsec },
				      NULL);
	}
	puts("done");
	return 0;
}

static int to_partner[2];

static void *is_woken(void *arg)
{
	char byte;

	while (read(to_partner[0], &byte, 1) == 1)
		;
	return arg;
}

static int64_t sleep_ns(int times)
{
	struct timespec begin, end;

	(void)clock_gettime(CLOCK_MONOTONIC, &begin);
	while (times--) {
		(void)usleep(SLEEP_US);
		(void)!write(to_partner[1], "w", 1);
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	return (int64_t)(end.tv_sec - begin.tv_sec) * NS_PER_S + end.tv_nsec -
	       begin.tv_nsec;
}

static bool join(const char *folder)
{
	FILE *procs;

	if (chdir(folder))
		return false;
	procs = fopen("cgroup.procs", "w");
	return procs && fprintf(procs, "0\n") > 0 && !fclose(procs);
}

/* Sleep as another than before, in the name, user or control group. */
static int sleeps(const char *how, int times)
{
	pthread_t partner;

	(void)prctl(PR_SET_NAME, "before");
	if (pipe(to_partner) || pthread_create(&partner, NULL, is_woken, NULL))
		return 1;
	(void)sleep_ns(BEFORE);
	if (!strcmp(how, "name"))
		(void)prctl(PR_SET_NAME, "after");
	else if (!strcmp(how, "user") ? setuid(NOBODY) : !join(how))
		return 1;
	printf("%lld\n", (long long)sleep_ns(times));
	return 0;
}

static PLACE void *large(void)
{
	void *p = malloc(LARGE_BYTES);

	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

static PLACE void *small(void)
{
	void *p = malloc(SMALL_BYTES);

	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

static int live(long n)
{
	long left[2] = { 0 };
	long i;
	long k;

	wait_for_line();
	for (i = 0; i < n; i++) {
		if (i % PAUSE_EVERY == 0)
			(void)usleep(PAUSE_LIVE_US);
		for (k = 0; k <= SMALL_TIMES; k++) {
			void *p = k ? small() : large();

			if ((i * SMALL_TIMES + k) % FREED == 0)
				free(p);
			else
				left[k > 0] += k ? SMALL_BYTES : LARGE_BYTES;
		}
	}
	printf("%ld %ld\n", left[0], left[1]);
	(void)fflush(stdout);
	return pause();
}

static PLACE int measures(long times)
{
	size_t (*volatile length)(const char *) = strlen; /* not that of the compiler */
	size_t sum = 0;
	long i;

	wait_for_line();
	for (i = 0; i < times; i++) {
		sum += length("some text to measure");
		if (i % PAUSE_EVERY == 0)
			(void)usleep(PAUSE_LIVE_US);
	}
	puts("done");
	return sum ? 0 : 1;
}

static PLACE void slow_or_fast(int ms)
{
	clock_t until = clock() + (clock_t)ms * (CLOCKS_PER_SEC / MS_PER_S);
	struct timespec wait = { .tv_nsec = PART_MS * (NS_PER_S / MS_PER_S) };
	uint32_t zero = 0;
	void *last = NULL;
	void *pages;
	int i;

	for (i = 0; clock() < until; i++) {
		clock_t part = clock() + PART_MS * (CLOCKS_PER_SEC / MS_PER_S);

		while (clock() < part)
			;
		(void)syscall(SYS_futex, &zero, FUTEX_WAIT_PRIVATE, 0, &wait, NULL, 0);
		pages = calloc(1, LARGE_BYTES * LARGE_TIMES);
		__asm__ volatile("" : : "r"(pages) : "memory");
		free(last);
		last = pages;
	}
}

static PLACE void slow(int ms)
{
	slow_or_fast(ms);
	__asm__ volatile("");
}

static PLACE void fast(int ms)
{
	slow_or_fast(ms);
	__asm__ volatile("");
}

static int twins(int ms)
{
	if (!fork()) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)prctl(PR_SET_NAME, "slow");
		slow(ms);
		return 0;
	}
	if (!fork()) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)prctl(PR_SET_NAME, "fast");
		fast(ms);
		return 0;
	}
	while (wait(NULL) > 0)
		;
	return 0;
}

static void *waits(void *arg)
{
	(void)pause();
	return arg;
}

static int waits_all(void)
{
	pthread_t t;
	int i;

	for (i = 1; i < THREADS; i++)
		(void)pthread_create(&t, NULL, waits, NULL);
	(void)pause();
	return 0;
}

static int kill_all(int n)
{
	pid_t group = 0;
	int i;

	for (i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (!pid) {
			(void)setpgid(0, group);
			return waits_all();
		}
		(void)setpgid(pid, group ? group : pid);
		if (!group)
			group = pid;
	}
	(void)sleep(1);
	(void)kill(-group, SIGTERM);
	while (wait(NULL) > 0)
		;
	return 0;
}

static jmp_buf before;
static int64_t timed_calls;
static int64_t timed_ns;

static int64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

PLACE void timed(int64_t ns, int depth, int leaves)
{
	int64_t begin = now_ns();

	if (depth > 1)
		timed(ns, depth - 1, leaves);
	while (now_ns() - begin < ns)
		;
	if (leaves)
		longjmp(before, 1);
	timed_calls++;
	timed_ns += now_ns() - begin;
}

/* Beside them the time that the process waited for a CPU, which may lie between the probe's clock
 * and this one. */
static void tell_timed(void)
{
	static long long waited_ns;
	long long waited = 0;
	FILE *f = fopen("/proc/self/schedstat", "r");

	if (!f || fscanf(f, "%*u %lld", &waited) != 1)
		exit(1);
	(void)fclose(f);
	printf("%lld %lld %lld\n", (long long)timed_calls, (long long)timed_ns,
	       waited - waited_ns);
	waited_ns = waited;
	timed_calls = timed_ns = 0;
}

static PLACE void shorts(int n)
{
	while (n--)
		timed(SHORT_NS, 1, 0);
	tell_timed();
}

static PLACE void longs(int n)
{
	while (n--)
		timed(LONG_NS, 1, 0);
	tell_timed();
}

/* The profiler gets to know the program. */
static PLACE void begins(void)
{
	int i;

	for (i = 0; i < BEFORE; i++)
		timed(SHORT_NS, 1, 0);
	(void)sleep(ATTACH_S);
	timed(SHORT_NS, 1, 0);
	(void)sleep(1);
	timed_calls = timed_ns = 0;
}

static PLACE void nests(int n)
{
	while (n--) {
		if (!setjmp(before))
			timed(SHORT_NS, 1, 1);
		timed(NESTED_NS, NESTED, 0);
	}
	tell_timed();
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "bursts"))
		return bursts(atoi(argv[2]), atoi(argv[3]));
	if (argc == 3 &&
	    (!strcmp(argv[1], "name") || !strcmp(argv[1], "user") || argv[1][0] == '/'))
		return sleeps(argv[1], atoi(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "live"))
		return live(atol(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "kill"))
		return kill_all(atoi(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "strlen"))
		return measures(atol(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "calls")) {
		begins();
		shorts(atoi(argv[2]));
		longs(atoi(argv[2]) / LONGS);
		nests(atoi(argv[2]) / LONGS);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "twins"))
		return twins(atoi(argv[2]));
	return 2;
}
