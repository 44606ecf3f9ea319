/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time that a thread was on a CPU, bounded by two clocks of the kernel:
 *   - CLOCK_THREAD_CPUTIME_ID is too large: on an idle CPU it starts when the thread is woken,
 *     before the switch to the thread.
 *   - perf's task clock is too small: it starts after the switch.
 * The switch takes 1 or 2 % of a wait of half a millisecond on real hardware, and 5 to 15
 * % on an emulated machine.
 *
 * In a virtual machine the first of them leaves out what the host took from it (steal time,
 * with CONFIG_PARAVIRT_TIME_ACCOUNTING), which no thread was off the CPU for: off_stolen()
 * takes it from the lower bound.
 */
#ifndef TEST_ON_CPU_H
#define TEST_ON_CPU_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

/* Bounds of a time off the CPU. */
struct off_ns {
	int64_t least;
	int64_t most;
};

/* Open the task clock of this thread; with @inherit also of the threads that
 * it creates. */
static inline int task_clock_open(bool inherit)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_TASK_CLOCK,
					.inherit = inherit };
	int fd =
		(int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

static inline int64_t task_clock_ns(int fd)
{
	int64_t ns;

	CHECK_INT(read(fd, &ns, sizeof(ns)), sizeof(ns));
	return ns;
}

static inline int64_t off_clock_ns(clockid_t clock)
{
	struct timespec t;

	CHECK_OK(clock_gettime(clock, &t));
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/*
 * Begin a time off the CPU. Pass the returned value to off_end(). @clock: CPU time of the
 * process or the thread, the same that @task_clock counts. @threads: the constant number
 * of threads.
 *
 * One clock is read inside the other, so that the bounds are valid whatever happens
 * between two reads. A virtual machine that is stopped there for 4 ms counts that as run
 * time.
 */
static inline struct off_ns off_begin(clockid_t clock, int task_clock, int threads)
{
	int64_t cpu = off_clock_ns(clock);
	int64_t wall = threads * off_clock_ns(CLOCK_MONOTONIC);

	return (struct off_ns){ .least = wall - cpu,
				.most = wall - task_clock_ns(task_clock) };
}

static inline struct off_ns off_end(struct off_ns begin, clockid_t clock, int task_clock,
				    int threads)
{
	int64_t task = task_clock_ns(task_clock);
	int64_t wall = threads * off_clock_ns(CLOCK_MONOTONIC);
	int64_t cpu = off_clock_ns(clock);

	return (struct off_ns){ .least = wall - cpu - begin.least,
				.most = wall - task - begin.most };
}

/* The time in ns that the host took from all CPUs of this machine, to a tick of 10 ms. 0
 * if it is not known. */
static inline int64_t stolen_ns(void)
{
	FILE *f = fopen("/proc/stat", "re");
	long long ticks = 0;

	CHECK(f);
	/* user, nice, system, idle, iowait, irq, softirq, steal (proc_stat(5)) */
	if (fscanf(f, "cpu %*d %*d %*d %*d %*d %*d %*d %lld", &ticks) != 1)
		ticks = 0;
	CHECK_OK(fclose(f));
	return ticks * (1000000000 / sysconf(_SC_CLK_TCK));
}

/* The host may have taken @stolen of the time that @off bounds while the thread was on a
 * CPU. */
static inline void off_stolen(struct off_ns *off, int64_t stolen)
{
	off->least = off->least > stolen ? off->least - stolen : 0;
}

/* Check that @got is within @want, with a tolerance of @off thousandths. */
static inline void off_check(const char *what, int64_t got, struct off_ns want, int off)
{
	printf("  %s: %lld, wanted %lld to %lld\n", what, (long long)got,
	       (long long)want.least, (long long)want.most);
	CHECK(got * 1000 >= want.least * (1000 - off));
	CHECK(got * 1000 <= want.most * (1000 + off));
}

#endif
