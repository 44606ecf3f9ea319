/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first process of a runtime appears after the start, or the first one with the probes of
 * allocations: what it does is seen, and no poll asked the kernel to verify a program, one system
 * call that takes longer than a poll may.
 */
#include <dlfcn.h>
#include <linux/bpf.h>
#include <otelprof/otelprof.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kind.h"
#include "test.h"

enum {
	RATE_HZ = 200,
	POLL_MS = 50,
	EXPORT_EVERY = 10, /* polls */
	LIMIT_S = 30,
	ARGUMENTS = 6,
	NS_PER_MS = 1000000,
};

static const char FUNCTION[] = "spin_in_python";
static const char PROGRAM[] = "def spin_in_python():\n"
			      "    n = 0\n"
			      "    while True:\n"
			      "        n += len(bytes(100000))\n"
			      "spin_in_python()\n";

static int loads; /* of programs, in all */

__attribute__((visibility("default"))) long syscall(long number, ...);

/* In place of libc's, which libbpf calls. */
long syscall(long number, ...)
{
	long (*real)(long, ...) = dlsym(RTLD_NEXT, "syscall");
	long a[ARGUMENTS];
	va_list args;
	int i;

	va_start(args, number);
	for (i = 0; i < ARGUMENTS; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	loads += number == SYS_bpf && (int)a[0] == BPF_PROG_LOAD;
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	CHECK_INT(clock_gettime(clock, &t), 0);
	return (int64_t)t.tv_sec * 1000 * NS_PER_MS + t.tv_nsec;
}

/* What is to be in a request. */
struct sought {
	const char *words;
	bool found;
};

static int look_for(void *userdata, const void *request, size_t len, uint64_t samples)
{
	struct sought *s = userdata;

	s->found |= memmem(request, len, s->words, strlen(s->words)) != NULL;
	return 0;
}

/* A process that waits for SIGCONT, and then is Python. */
static pid_t run_stopped(const char *preload)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)raise(SIGSTOP);
		if (preload)
			(void)setenv("LD_PRELOAD", preload, 1);
		(void)setenv("OTELPROF_HEAP_INTERVAL", "16384", 1);
		(void)execlp("python3", "python3", "-c", PROGRAM, (char *)NULL);
		_exit(127);
	}
	CHECK_INT(waitpid(pid, NULL, WUNTRACED), pid);
	return pid;
}

static void check(uint64_t kinds, const char *preload, const char *words)
{
	int64_t until = clock_ns(CLOCK_MONOTONIC) + (int64_t)LIMIT_S * 1000 * NS_PER_MS;
	struct otelprof_callback_config callback;
	struct otelprof_config config;
	struct otelprof *p;
	int64_t longest_ns = 0;
	struct sought sought = { .words = words };
	int before;
	int polls = 0;
	pid_t pid;

	if (system("python3 -c pass >/dev/null 2>&1"))
		SKIP("no python3 here");
	pid = run_stopped(preload);
	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = RATE_HZ;
	/* other processes may run Python already; then none is known at the start */
	config.flags = OTELPROF_NO_START_SCAN;
	config.kinds = kinds;
	p = kind_open(&config, pid);
	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = look_for;
	callback.userdata = &sought;
	CHECK_OK(otelprof_exporter_callback(p, &callback));
	CHECK_OK(otelprof_start(p));
	before = loads;
	CHECK(before > 0);
	CHECK_INT(kill(pid, SIGCONT), 0);
	while (!sought.found && clock_ns(CLOCK_MONOTONIC) < until) {
		int64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		CHECK_OK(otelprof_poll(p, POLL_MS));
		cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
		longest_ns = cpu_ns > longest_ns ? cpu_ns : longest_ns;
		if (++polls % EXPORT_EVERY == 0)
			CHECK_OK(otelprof_export(p));
	}
	printf("  %d programs loaded until the start, %d in %d polls, the longest of %.1f ms "
	       "of CPU time\n",
	       before, loads - before, polls, (double)longest_ns / NS_PER_MS);
	CHECK(sought.found);
	CHECK_INT(loads - before, 0);
	CHECK_INT(kill(pid, SIGKILL), 0);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	otelprof_free(p);
}

static void test_of_a_runtime(void)
{
	check(OTELPROF_KIND_CPU, NULL, FUNCTION);
}

static void test_of_allocations(void)
{
	check(OTELPROF_KIND_CPU | OTELPROF_KIND_HEAP, HEAP_SAMPLER, "alloc_space");
}

TEST_MAIN({ "of_a_runtime", test_of_a_runtime },
	  { "of_allocations", test_of_allocations })
