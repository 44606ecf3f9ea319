/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "kind_profile.h"
#include "on_cpu.h"

enum {
	PAGE = 4096,
	SPIN_MS = 1000,
};

/* What the threads of a child share. */
struct waits {
	char *page; /* not there until the second thread gives it */
	int faults; /* descriptor of userfaultfd */
	int64_t hold_ns;
	int go[2];   /* to who holds the lock: where to write */
	int held[2]; /* from who gives the page: the lock is held */
	int free[2]; /* from who held the lock: it is not any more */
	int file;
	int pipe[2];
};

static volatile bool stop;

static void *hold(void *arg)
{
	struct waits *w = arg;
	int fd;

	while (read(w->go[0], &fd, sizeof(fd)) == sizeof(fd)) {
		(void)!write(fd, w->page, PAGE);
		(void)madvise(w->page, PAGE, MADV_DONTNEED);
		(void)!write(w->free[1], "f", 1);
	}
	return NULL;
}

static void *give(void *arg)
{
	struct waits *w = arg;
	struct uffd_msg m;

	while (read(w->faults, &m, sizeof(m)) == sizeof(m)) {
		struct uffdio_zeropage zero = {
			.range = { (uintptr_t)w->page, PAGE },
		};
		struct timespec t = { .tv_nsec = w->hold_ns };

		(void)!write(w->held[1], "h", 1);
		(void)nanosleep(&t, NULL);
		(void)ioctl(w->faults, UFFDIO_ZEROPAGE, &zero);
	}
	return NULL;
}

static PLACE void writes_file(const struct waits *w)
{
	(void)!pwrite(w->file, "f", 1, 0);
	STAYS("file");
}

static PLACE void writes_pipe(const struct waits *w)
{
	(void)!write(w->pipe[1], "p", 1);
	STAYS("pipe");
}

static int open_faults(char *page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { (uintptr_t)page, PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd >= 0 &&
	    (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

static void start(struct waits *w)
{
	pthread_t thread;

	w->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	CHECK(w->page != MAP_FAILED);
	w->faults = open_faults(w->page);
	if (w->faults < 0)
		return;
	w->file = memfd_create("kernel-locks", MFD_CLOEXEC);
	CHECK(w->file >= 0);
	CHECK_OK(pipe2(w->pipe, O_CLOEXEC));
	CHECK_OK(pipe2(w->go, O_CLOEXEC));
	CHECK_OK(pipe2(w->held, O_CLOEXEC));
	CHECK_OK(pipe2(w->free, O_CLOEXEC));
	CHECK_OK(pthread_create(&thread, NULL, hold, w));
	CHECK_OK(pthread_create(&thread, NULL, give, w));
}

/* How often this thread has gone to sleep; or lost its CPU to others, before a wait or after it. */
static int64_t switches(bool lost)
{
	struct rusage u;

	CHECK_OK(getrusage(RUSAGE_THREAD, &u));
	return lost ? u.ru_nivcsw : u.ru_nvcsw;
}

/* One wait in place @i. */
static void wait_once(struct waits *w, int i, bool late, int task_clock, struct answer *a)
{
	int fd = i ? w->pipe[1] : w->file;
	char bytes[PAGE + 1];
	struct off_ns off;
	int64_t slept;
	int64_t lost;
	int64_t wall;

	(void)lseek(w->file, 0, SEEK_SET);
	(void)!write(w->go[1], &fd, sizeof(fd));
	(void)!read(w->held[0], bytes, 1);
	if (late)
		(void)!read(w->free[0], bytes, 1);
	wall = off_clock_ns(CLOCK_MONOTONIC);
	lost = switches(true);
	off = off_begin(CLOCK_THREAD_CPUTIME_ID, task_clock, 1);
	slept = switches(false);
	if (i)
		writes_pipe(w);
	else
		writes_file(w);
	slept = switches(false) - slept;
	off = off_end(off, CLOCK_THREAD_CPUTIME_ID, task_clock, 1);
	if (slept && switches(true) == lost)
		a->off_ns[i] += off.least;
	a->wall_ns[i] += off_clock_ns(CLOCK_MONOTONIC) - wall;
	a->count[i]++;
	a->slept[i] += slept > 0;
	if (!late)
		(void)!read(w->free[0], bytes, 1);
	if (i)
		CHECK_INT(read(w->pipe[0], bytes, sizeof(bytes)), sizeof(bytes));
}

static void wait_often(struct waits *w, const struct request *q, struct answer *a)
{
	int task_clock = task_clock_open(false);
	int64_t i;

	for (i = 0; i < q->waits; i++) {
		w->hold_ns = i & 1 ? q->hold_ns : 3 * q->hold_ns;
		wait_once(w, (int)(i & 1), q->late, task_clock, a);
	}
	(void)close(task_clock);
}

/* ---- spin locks ---- */

/* The table of open files has a lock that all threads take. */
static PLACE void *spins_here(void *arg)
{
	while (!stop)
		(void)close(dup(*(int *)arg));
	STAYS("spins");
	return NULL;
}

/* A counter of the waits of this process that have ended; -1: there is none. */
static int open_count(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT,
					.size = sizeof(attr),
					.inherit = 1 };
	FILE *f = fopen("/sys/kernel/tracing/events/lock/contention_end/id", "re");
	unsigned long long id;

	if (!f)
		f = fopen("/sys/kernel/debug/tracing/events/lock/contention_end/id",
			  "re");
	if (!f)
		return -1;
	if (fscanf(f, "%llu", &id) != 1)
		id = 0;
	(void)fclose(f);
	attr.config = id;
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void spin(int fd, struct answer *a)
{
	struct timespec t = { .tv_sec = SPIN_MS / 1000 };
	pthread_t thread[SPINNERS];
	int count = open_count();
	int i;

	a->missing = count < 0;
	if (count < 0)
		return;
	stop = false;
	for (i = 0; i < SPINNERS; i++)
		CHECK_OK(pthread_create(&thread[i], NULL, spins_here, &fd));
	(void)nanosleep(&t, NULL);
	stop = true;
	for (i = 0; i < SPINNERS; i++)
		CHECK_OK(pthread_join(thread[i], NULL));
	a->spins = task_clock_ns(count);
	(void)close(count);
}

void child_serve(int from, int to)
{
	struct waits *w = calloc(1, sizeof(*w));
	struct request q;

	CHECK(w);
	(void)prctl(PR_SET_TIMERSLACK, 1);
	start(w);
	while (read(from, &q, sizeof(q)) == sizeof(q)) {
		struct answer a = { .missing = w->faults < 0 };

		if (!q.waits)
			spin(from, &a);
		else if (!a.missing)
			wait_often(w, &q, &a);
		(void)!write(to, &a, sizeof(a));
	}
}
