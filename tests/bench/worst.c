/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worst case of each kind of events: a loop that does nothing but what is measured.
 *
 *     worst switch|futex|dup|fault|direct|call|signal|malloc SECONDS [FILE]
 *
 * Writes "ready PID", then a line a second: the CPU ns of an operation, of all threads and
 * children, and the ns of the clock. FILE: read past the page cache, of 1 MiB and more.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

enum {
	PAGE = 4096,
	FAULTS = 256, /* pages at a time */
	FILE_BYTES = 1 << 20,
	DUPPERS = 3, /* beside the thread that tells */
	LINE = 64,   /* of a cache */
	MALLOC_BYTES = 1024,
	NS_PER_S = 1000000000,
};

typedef uint64_t (*loop_fn)(void); /* some rounds; returns how many operations */

static int there[2], back[2];
static uint32_t word;
static char *pages;
static int file = -1;

static int64_t clock_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static int64_t time_ns(struct timeval t)
{
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_usec * 1000;
}

static int64_t cpu_ns(void)
{
	struct rusage own, children;

	(void)getrusage(RUSAGE_SELF, &own);
	(void)getrusage(RUSAGE_CHILDREN, &children);
	return time_ns(own.ru_utime) + time_ns(own.ru_stime) +
	       time_ns(children.ru_utime) + time_ns(children.ru_stime);
}

/* ---- two threads on one CPU, by turns ---- */

static void *answer_pipe(void *arg)
{
	char c;

	while (read(there[0], &c, 1) == 1)
		(void)!write(back[1], &c, 1);
	return arg;
}

static uint64_t loop_switch(void)
{
	char c = 0;
	int i;

	for (i = 0; i < 1000; i++) {
		(void)!write(there[1], &c, 1);
		(void)!read(back[0], &c, 1);
	}
	return 2000;
}

static void turn(uint32_t mine)
{
	while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) != mine)
		(void)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, !mine, NULL, NULL, 0);
	__atomic_store_n(&word, !mine, __ATOMIC_RELEASE);
	(void)syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *answer_futex(void *arg)
{
	for (;;)
		turn(1);
	return arg;
}

static uint64_t loop_futex(void)
{
	int i;

	for (i = 0; i < 1000; i++)
		turn(0);
	return 2000;
}

/* ---- threads that want one lock of the kernel: that of the table of open files ---- */

static struct {
	uint64_t done;
	char rest[LINE - sizeof(uint64_t)];
} dupper[DUPPERS + 1];

static void dup_often(uint64_t *done)
{
	int i;

	for (i = 0; i < 1000; i++)
		(void)close(dup(0));
	__atomic_store_n(done, *done + 1000, __ATOMIC_RELAXED);
}

static void *dup_always(void *arg)
{
	for (;;)
		dup_often(arg);
	return arg;
}

static uint64_t loop_dup(void)
{
	static uint64_t told;
	uint64_t before = told;
	int i;

	dup_often(&dupper[DUPPERS].done);
	told = 0;
	for (i = 0; i <= DUPPERS; i++)
		told += __atomic_load_n(&dupper[i].done, __ATOMIC_RELAXED);
	return told - before;
}

static void start_duppers(void)
{
	pthread_t thread;
	int i;

	for (i = 0; i < DUPPERS; i++)
		if (pthread_create(&thread, NULL, dup_always, &dupper[i].done))
			abort();
}

static void start_other(void *(*fn)(void *))
{
	pthread_t thread;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
	if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, fn, NULL))
		abort();
}

/* ---- the others ---- */

static uint64_t loop_fault(void)
{
	int i;

	for (i = 0; i < FAULTS; i++)
		pages[(size_t)i * PAGE] = 1;
	(void)madvise(pages, (size_t)FAULTS * PAGE, MADV_DONTNEED);
	return FAULTS;
}

static uint64_t loop_direct(void)
{
	int i;

	for (i = 0; i < FILE_BYTES / PAGE; i++)
		if (pread(file, pages, PAGE, (off_t)i * PAGE) != PAGE)
			abort();
	return FILE_BYTES / PAGE;
}

APART void probed(void)
{
	__asm__ volatile("" ::: "memory");
}

static uint64_t loop_call(void)
{
	int i;

	for (i = 0; i < 10000; i++)
		probed();
	return 10000;
}

static uint64_t loop_signal(void)
{
	int i;

	for (i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (pid == 0)
			(void)raise(SIGTERM);
		(void)waitpid(pid, NULL, 0);
	}
	return 10;
}

static uint64_t loop_malloc(void)
{
	int i;

	for (i = 0; i < 10000; i++) {
		void *p = malloc(MALLOC_BYTES);

		__asm__ volatile("" ::"r"(p) : "memory");
		free(p);
	}
	return 10000;
}

static loop_fn choose(const char *name, const char *path)
{
	pages = mmap(NULL, (size_t)FAULTS * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)madvise(pages, (size_t)FAULTS * PAGE, MADV_NOHUGEPAGE);
	if (strcmp(name, "switch") == 0) {
		start_other(answer_pipe);
		return loop_switch;
	}
	if (strcmp(name, "futex") == 0) {
		start_other(answer_futex);
		return loop_futex;
	}
	if (strcmp(name, "dup") == 0) {
		start_duppers();
		return loop_dup;
	}
	if (strcmp(name, "malloc") == 0)
		return loop_malloc;
	if (strcmp(name, "direct") == 0) {
		file = open(path, O_RDONLY | O_DIRECT);
		return file < 0 ? NULL : loop_direct;
	}
	if (strcmp(name, "fault") == 0)
		return loop_fault;
	if (strcmp(name, "signal") == 0)
		return loop_signal;
	return strcmp(name, "call") == 0 ? loop_call : NULL;
}

int main(int argc, char **argv)
{
	loop_fn loop = argc > 2 ? choose(argv[1], argc > 3 ? argv[3] : "") : NULL;
	int seconds = argc > 2 ? atoi(argv[2]) : 0;

	if (!loop) {
		(void)fprintf(stderr, "worst: there is no such loop here: %s\n",
			      argc > 1 ? argv[1] : "");
		return 77;
	}
	(void)printf("ready %d\n", getpid());
	(void)fflush(stdout);
	while (seconds-- > 0) {
		int64_t cpu = cpu_ns();
		int64_t begin = clock_ns();
		int64_t now = begin;
		uint64_t done = 0;

		while (now < begin + NS_PER_S) {
			done += loop();
			now = clock_ns();
		}
		(void)printf("%.1f %.1f\n", (double)(cpu_ns() - cpu) / (double)done,
			     (double)(now - begin) / (double)done);
		(void)fflush(stdout);
	}
	return 0;
}
