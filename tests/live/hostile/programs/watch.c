/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For LD_PRELOAD of the profiler: how long its longest otelprof_poll() worked, in time of a
 * processor, and how long the longest took by the clock, without what it waits for events and
 * for a processor that others have. What all polls worked and waited for a processor is told
 * too, and apart the time in which the kernel verifies programs: there is to be none.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct otelprof;

static __thread uint64_t waited_ns;
static __thread uint64_t verified_ns; /* of a processor */
static uint64_t most_verified_ns;     /* in a poll */
static uint64_t longest_ns;	      /* by the clock */
static uint64_t most_ns;	      /* of a processor */
static uint64_t worked_ns;	      /* of a processor, in all polls */
static uint64_t all_queued_ns;	      /* for a processor, in all polls */
static uint64_t polls;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Of this thread, in a queue for a processor: schedstat's second number. */
static uint64_t queued_ns(void)
{
	char text[128] = "";
	char *end = text;
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		(void)strtoull(text, &end, 10);
	if (fd >= 0)
		(void)close(fd);
	return strtoull(end, NULL, 10);
}

/* otelprof_poll() waits for two descriptors. One waits for a reader of files, which counts. */
int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	static int (*next)(struct pollfd *, nfds_t, int);
	uint64_t began = clock_ns(CLOCK_MONOTONIC);
	int n;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "poll");
	n = next(fds, count, timeout);
	if (count == 2)
		waited_ns += clock_ns(CLOCK_MONOTONIC) - began;
	return n;
}

/* libbpf's system calls. */
long syscall(long number, ...)
{
	static long (*next)(long, ...);
	uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	long a[6];
	va_list args;
	long r;
	int i;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "syscall");
	va_start(args, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	r = next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_bpf && (int)a[0] == BPF_PROG_LOAD)
		verified_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
	return r;
}

int otelprof_poll(struct otelprof *p, int timeout_ms)
{
	static int (*next)(struct otelprof *, int);
	uint64_t began = clock_ns(CLOCK_MONOTONIC);
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t queued = queued_ns();
	uint64_t waited = waited_ns;
	uint64_t verified = verified_ns;
	uint64_t idle;
	uint64_t took;
	int r;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "otelprof_poll");
	r = next(p, timeout_ms);
	verified = verified_ns - verified;
	if (verified > most_verified_ns)
		most_verified_ns = verified;
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu - verified;
	took = clock_ns(CLOCK_MONOTONIC) - began;
	queued = queued_ns() - queued;
	idle = waited_ns - waited + queued;
	took = took > idle ? took - idle : 0;
	if (took > longest_ns)
		longest_ns = took;
	if (cpu > most_ns)
		most_ns = cpu;
	worked_ns += cpu;
	all_queued_ns += queued;
	polls++;
	return r;
}

static __attribute__((destructor)) void tell(void)
{
	const char *path = getenv("WATCH_FILE");
	FILE *f = polls && path ? fopen(path, "we") : NULL;

	if (!f)
		return;
	(void)fprintf(f, "%llu %llu %llu %llu %llu %llu\n", (unsigned long long)most_ns,
		      (unsigned long long)longest_ns,
		      (unsigned long long)most_verified_ns, (unsigned long long)polls,
		      (unsigned long long)worked_ns, (unsigned long long)all_queued_ns);
	(void)fclose(f);
}
