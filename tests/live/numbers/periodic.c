/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks that work by timers and count for themselves:
 *
 *     periodic PERIOD_US WORK_US TASKS PHASE_US SECONDS HZ
 *
 * Each task is a thread that works WORK_US of its CPU clock at each multiple of PERIOD_US and at a
 * phase of its own: PHASE_US and parts of the period. At the end a line for each has
 *
 * - its thread id,
 * - its CPU time in ns, as perf counts it from the switch to the thread (its CPU clock begins at the
 *   wakeup, 7 us before that in an idle virtual machine),
 * - the variance of its number of samples if HZ times a second one is taken at a random moment of
 *   each interval: the sum of p (1 - p), where p is the part of an interval in which it ran. Where
 *   the intervals begin is not known, so that is the mean over several beginnings,
 * - how long it lived, in ns.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PLACE __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

enum {
	NS_PER_S = 1000000000,
	TASKS_MAX = 10,
	BEGINNINGS = 8,
};

struct span {
	int64_t begin_ns;
	int64_t end_ns;
};

struct task {
	pid_t tid;
	int64_t phase_ns;
	int64_t cpu_ns;
	int64_t lived_ns;
	struct span *span;
	size_t spans;
};

static int64_t period_ns;
static int64_t work_ns;
static int64_t begin_ns;
static int64_t end_ns;

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Open perf's clock of the time that this thread is on a CPU. */
static int task_clock(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_TASK_CLOCK };

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static PLACE void work(int64_t ns)
{
	int64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		;
	__asm__ volatile("");
}

static PLACE void run(struct task *t)
{
	int64_t born_ns = clock_ns(CLOCK_MONOTONIC);
	int64_t at = begin_ns + t->phase_ns;
	int clock = task_clock();

	(void)prctl(PR_SET_TIMERSLACK, 1);
	t->tid = (pid_t)syscall(SYS_gettid);
	for (; at < end_ns; at += period_ns) {
		struct timespec until = { at / NS_PER_S, at % NS_PER_S };
		struct span *s = &t->span[t->spans++];

		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		s->begin_ns = clock_ns(CLOCK_MONOTONIC);
		work(work_ns);
		s->end_ns = clock_ns(CLOCK_MONOTONIC);
	}
	if (read(clock, &t->cpu_ns, sizeof(t->cpu_ns)) != sizeof(t->cpu_ns))
		perror("the task clock");
	(void)close(clock);
	t->lived_ns = clock_ns(CLOCK_MONOTONIC) - born_ns;
}

#define TASK(i)                                                                          \
	static PLACE void *task_##i(void *t)                                             \
	{                                                                                \
		run(t);                                                                  \
		__asm__ volatile("");                                                    \
		return NULL;                                                             \
	}
TASK(0)
TASK(1)
TASK(2)
TASK(3)
TASK(4)
TASK(5)
TASK(6)
TASK(7)
TASK(8)
TASK(9)

/* Which part of @s its thread had the CPU: others may have had it, too. */
static double running(const struct span *s)
{
	double part = (double)work_ns / (double)(s->end_ns - s->begin_ns);

	return part < 1 ? part : 1;
}

/* The sum of p (1 - p) over intervals of @length that begin at @at. */
static double variance(const struct task *t, int64_t at, int64_t length)
{
	double part = 0;
	double sum = 0;
	size_t i = 0;

	while (i < t->spans) {
		const struct span *s = &t->span[i];
		int64_t from = s->begin_ns > at ? s->begin_ns : at;
		int64_t to = s->end_ns < at + length ? s->end_ns : at + length;

		if (to > from)
			part += (double)(to - from) / (double)length * running(s);
		if (s->end_ns <= at + length) {
			i++;
			continue;
		}
		sum += part * (1 - part);
		part = 0;
		at += length;
	}
	return sum + part * (1 - part);
}

static double mean_variance(const struct task *t, int64_t length)
{
	double sum = 0;
	int i;

	for (i = 0; i < BEGINNINGS; i++)
		sum += variance(t, begin_ns - length * i / BEGINNINGS, length);
	return sum / BEGINNINGS;
}

int main(int argc, char **argv)
{
	static void *(*const FN[TASKS_MAX])(void *) = {
		task_0, task_1, task_2, task_3, task_4,
		task_5, task_6, task_7, task_8, task_9,
	};
	static struct task task[TASKS_MAX];
	pthread_t thread[TASKS_MAX];
	int tasks;
	int i;

	if (argc != 7)
		return 2;
	period_ns = atoll(argv[1]) * 1000;
	work_ns = atoll(argv[2]) * 1000;
	tasks = atoi(argv[3]);
	/* the same phases in each run, as those of timers of a whole second are */
	begin_ns = (clock_ns(CLOCK_MONOTONIC) / NS_PER_S + 1) * NS_PER_S;
	end_ns = begin_ns + (int64_t)(atof(argv[5]) * NS_PER_S);
	for (i = 0; i < tasks && i < TASKS_MAX; i++) {
		task[i].phase_ns = period_ns * i / tasks + atoll(argv[4]) * 1000;
		task[i].span = calloc((size_t)((end_ns - begin_ns) / period_ns) + 2,
				      sizeof(struct span));
		if (!task[i].span || pthread_create(&thread[i], NULL, FN[i], &task[i]))
			return 1;
	}
	for (i = 0; i < tasks && i < TASKS_MAX; i++)
		(void)pthread_join(thread[i], NULL);
	for (i = 0; i < tasks && i < TASKS_MAX; i++)
		printf("%d %lld %f %lld\n", task[i].tid, (long long)task[i].cpu_ns,
		       mean_variance(&task[i], NS_PER_S / atoll(argv[6])),
		       (long long)task[i].lived_ns);
	return 0;
}
