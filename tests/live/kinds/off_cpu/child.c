/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

enum {
	NS_PER_S = 1000000000,
	NS_PER_MS = 1000000,
	SLEEP_NS = 500000,
	SLOW_NS = 10000000, /* 100 switches a second */
	ROUND = 10,	    /* waits: five, three and two */
	MOVES_EVERY = 10,   /* rounds */
	PINNED_NS =
		8000, /* that the other of a pair is busy: about 100,000 switches a second */
	MIGRATING_NS = 400000, /* against some microseconds of waking an idle CPU */
};

struct request {
	uint32_t ms;
	char work;
};

/* One side of a pair. */
struct pair {
	int to;
	int from;
	int64_t busy_ns;
	volatile bool end;
};

static int task_clock; /* of this thread and those it makes */

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void sleep_ns(long ns)
{
	struct timespec t = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };

	(void)nanosleep(&t, NULL);
}

/* Wait: sleep for @ns, or for the other of a pair. */
static void wait_for(struct pair *p, long ns)
{
	char c = 0;

	if (!p) {
		sleep_ns(ns);
		return;
	}
	(void)!write(p->to, &c, 1);
	(void)!read(p->from, &c, 1);
}

static PLACE void waits_in_a(struct pair *p, long ns)
{
	wait_for(p, ns);
	STAYS("a");
}

static PLACE void waits_in_b(struct pair *p, long ns)
{
	wait_for(p, ns);
	STAYS("b");
}

static PLACE void waits_in_c(struct pair *p, long ns)
{
	wait_for(p, ns);
	STAYS("c");
}

/* Five, three and two, mixed. */
static PLACE void one_round(struct pair *p, struct answer *a, long ns)
{
	static const char order[ROUND + 1] = "abacabacab";
	int i;

	for (i = 0; i < ROUND; i++) {
		struct off_ns *sum = &a->place_off_ns[order[i] - 'a'];
		int64_t before = clock_ns(CLOCK_MONOTONIC);
		struct off_ns off = { 0 };

		if (!p) /* of a pair, two more calls would be most of the work */
			off = off_begin(CLOCK_THREAD_CPUTIME_ID, task_clock, 1);

		if (order[i] == 'a')
			waits_in_a(p, ns);
		else if (order[i] == 'b')
			waits_in_b(p, ns);
		else
			waits_in_c(p, ns);
		if (!p) {
			off = off_end(off, CLOCK_THREAD_CPUTIME_ID, task_clock, 1);
			sum->least += off.least;
			sum->most += off.most;
		}
		a->place_ns[order[i] - 'a'] += clock_ns(CLOCK_MONOTONIC) - before;
		a->waits[order[i] - 'a']++;
	}
}

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

static PLACE void drive(struct pair *p, struct answer *a, uint32_t ms, bool moves,
			long sleep)
{
	int64_t begin = clock_ns(CLOCK_MONOTONIC);
	int64_t end = begin + (int64_t)ms * NS_PER_MS;
	int64_t own = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct off_ns off = off_begin(CLOCK_PROCESS_CPUTIME_ID, task_clock, p ? 2 : 1);
	int64_t now = begin;
	int rounds;

	for (rounds = 0; now < end; rounds++) {
		one_round(p, a, sleep);
		if (moves && rounds % MOVES_EVERY == 0)
			run_on((rounds / MOVES_EVERY) & 1);
		now = clock_ns(CLOCK_MONOTONIC);
	}
	a->places_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - own;
	a->off_ns = off_end(off, CLOCK_PROCESS_CPUTIME_ID, task_clock, p ? 2 : 1);
	STAYS("drive");
}

static PLACE void *other_of_the_pair(void *arg)
{
	struct pair *p = arg;
	char c;

	while (read(p->from, &c, 1) == 1 && !p->end) {
		int64_t end = clock_ns(CLOCK_MONOTONIC) + p->busy_ns;

		while (clock_ns(CLOCK_MONOTONIC) < end)
			;
		(void)!write(p->to, &c, 1);
	}
	return NULL;
}

static void work_in_pair(struct answer *a, uint32_t ms, bool moves)
{
	struct pair mine = { 0 };
	struct pair other = { 0 };
	pthread_t thread;
	int there[2];
	int back[2];
	char c = 0;

	CHECK_OK(pipe2(there, O_CLOEXEC));
	CHECK_OK(pipe2(back, O_CLOEXEC));
	mine.to = there[1];
	mine.from = back[0];
	other.to = back[1];
	other.from = there[0];
	other.busy_ns = moves ? MIGRATING_NS : PINNED_NS;
	run_on(0); /* the other one, too: it is inherited */
	CHECK_OK(pthread_create(&thread, NULL, other_of_the_pair, &other));
	drive(&mine, a, ms, moves, 0);
	other.end = true;
	(void)!write(mine.to, &c, 1);
	CHECK_OK(pthread_join(thread, NULL));
	(void)close(there[0]);
	(void)close(there[1]);
	(void)close(back[0]);
	(void)close(back[1]);
}

static PLACE void *short_lived(void *arg)
{
	struct answer *a = arg;
	int64_t t[PLACES + 1];
	int64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int i;

	t[0] = clock_ns(CLOCK_MONOTONIC);
	waits_in_a(NULL, 5 * NS_PER_MS);
	t[1] = clock_ns(CLOCK_MONOTONIC);
	waits_in_b(NULL, 3 * NS_PER_MS);
	t[2] = clock_ns(CLOCK_MONOTONIC);
	waits_in_c(NULL, 2 * NS_PER_MS);
	t[3] = clock_ns(CLOCK_MONOTONIC);
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	for (i = 0; i < PLACES; i++) {
		a->place_ns[i] += t[i + 1] - t[i];
		a->waits[i]++;
	}
	a->off_ns.least += t[PLACES] - t[0] - cpu;
	a->off_ns.most += t[PLACES] - t[0];
	return NULL;
}

static void work_short_lived(struct answer *a, uint32_t ms)
{
	int64_t end = clock_ns(CLOCK_MONOTONIC) + (int64_t)ms * NS_PER_MS;
	pthread_t thread;

	while (clock_ns(CLOCK_MONOTONIC) < end) {
		CHECK_OK(pthread_create(&thread, NULL, short_lived, a));
		CHECK_OK(pthread_join(thread, NULL));
	}
}

static void serve(int from, int to)
{
	struct request q;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "op-waits");
	(void)prctl(PR_SET_TIMERSLACK, 1);
	task_clock = task_clock_open(true);
	while (read(from, &q, sizeof(q)) == sizeof(q)) {
		struct answer a = { 0 };
		struct rusage usage;

		(void)getrusage(RUSAGE_SELF, &usage);
		a.switches = -(usage.ru_nvcsw + usage.ru_nivcsw);
		if (q.work == SLEEPS || q.work == SLOW_SLEEPS)
			drive(NULL, &a, q.ms, false,
			      q.work == SLEEPS ? SLEEP_NS : SLOW_NS);
		else if (q.work == SHORT_LIVED)
			work_short_lived(&a, q.ms);
		else
			work_in_pair(&a, q.ms, q.work == MIGRATING);
		(void)getrusage(RUSAGE_SELF, &usage);
		a.switches += usage.ru_nvcsw + usage.ru_nivcsw;
		(void)!write(to, &a, sizeof(a));
	}
	_exit(0);
}

struct kind_child start_child(void)
{
	return kind_child_start(serve);
}

void ask_child(const struct kind_child *c, char work, uint32_t ms)
{
	struct request q = { .ms = ms, .work = work };

	CHECK_INT(write(c->to, &q, sizeof(q)), sizeof(q));
}
