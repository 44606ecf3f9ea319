/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The budget of a poll: many large programs begin at once, each with an unwind table of its own.
 * A small budget cuts that into short polls, a large one into longer ones, and both come to an
 * end: a host that polls only when the descriptor says so has all tables, and all samples are
 * accounted for. What is judged is the polling thread's CPU time, which other work on the machine
 * does not add to.
 */
#include <fcntl.h>
#include <otelprof/otelprof.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kind.h"
#include "stats.h"
#include "test.h"

enum {
	RATE_HZ = 500,
	PROGRAMS = 6,
	SAMPLES = 120,		 /* then all programs have had some */
	TABLE_BYTES = 400 << 10, /* of one program, at least */
	READABLE_MS = 5000,	 /* the library looks about itself each second */
	LIMIT_S = 40,
	QUIET_MS = 300, /* no poll worked for so long: nothing is left */
	WAIT_MS = 100,	/* a call that has worked must not go on */
	LITTLE = 8,	/* less than one of so many parts of its time is no work */
	SMALL_MS = 4,
	LARGE_MS = 80,
	/* what cannot be divided: above all opening a file and looking what it is */
	PIECE_MS = 16,
	LATE_ONE_IN = 50, /* polls that are longer for what the kernel does meanwhile */
	NS_PER_MS = 1000000,
};

/* Of a run. */
struct run {
	pid_t pid[PROGRAMS];
	char dir[32];
	struct otelprof *p;
	uint32_t budget_ms;
	uint64_t exported;
	int64_t polls; /* that worked */
	int64_t cpu_ns;
	int64_t longest_ns;
	int64_t late; /* longer than budget and piece */
};

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	CHECK_INT(clock_gettime(clock, &t), 0);
	return (int64_t)t.tv_sec * 1000 * NS_PER_MS + t.tv_nsec;
}

static int count(void *userdata, const void *request, size_t len, uint64_t samples)
{
	struct run *run = userdata;

	run->exported += samples;
	return 0;
}

/* A copy with content of its own: what is behind an ELF file's sections means nothing. */
static void copy_to(const char *path, int number)
{
	static char bytes[1 << 16];
	const char *from_path = getenv("OTELPROF_TEST_LARGE");
	int from = from_path ? open(from_path, O_RDONLY | O_CLOEXEC) : -1;
	int to;
	ssize_t n;

	if (from < 0)
		SKIP("OTELPROF_TEST_LARGE is not given");
	to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	CHECK(to >= 0);
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		CHECK_INT(write(to, bytes, (size_t)n), n);
	CHECK_INT(write(to, &number, sizeof(number)), sizeof(number));
	CHECK_INT(close(to), 0);
	CHECK_INT(close(from), 0);
}

/* A process that waits for SIGCONT, and then executes its program. */
static pid_t run_stopped(const char *path)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)raise(SIGSTOP);
		(void)execl(path, path, (char *)NULL);
		_exit(127);
	}
	CHECK_INT(waitpid(pid, NULL, WUNTRACED), pid);
	return pid;
}

static void signal_all(const struct run *run, int signal)
{
	int i;

	for (i = 0; i < PROGRAMS; i++)
		CHECK_INT(kill(run->pid[i], signal), 0);
}

/* Sample the programs alone, so that what else runs here means little. */
static void sample_only(const struct run *run)
{
	struct otelprof_rule rule[PROGRAMS];
	int i;

	for (i = 0; i < PROGRAMS; i++)
		rule[i] = (struct otelprof_rule){ .size = sizeof(rule[i]),
						  .kind = OTELPROF_MATCH_PID,
						  .number = (uint64_t)run->pid[i] };
	CHECK_OK(otelprof_set_rules(run->p, rule, PROGRAMS));
}

static void begin(struct run *run, uint32_t budget_ms)
{
	struct otelprof_callback_config callback;
	struct otelprof_config config;
	char path[64];
	int i;

	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = RATE_HZ;
	config.flags = OTELPROF_NO_NATIVE_NAMES;
	config.poll_budget_ms = budget_ms;
	*run = (struct run){ .dir = "/tmp/otelprof-poll-XXXXXX", .budget_ms = budget_ms };
	run->p = kind_new(&config);
	CHECK(mkdtemp(run->dir));
	for (i = 0; i < PROGRAMS; i++) {
		(void)snprintf(path, sizeof(path), "%s/large%d", run->dir, i);
		copy_to(path, i);
		run->pid[i] = run_stopped(path);
	}
	sample_only(run);
	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = count;
	callback.userdata = run;
	CHECK_OK(otelprof_exporter_callback(run->p, &callback));
	CHECK_OK(otelprof_start(run->p));
}

static void end(struct run *run)
{
	char path[64];
	int i;

	for (i = 0; i < PROGRAMS; i++) {
		(void)kill(run->pid[i], SIGKILL);
		CHECK_INT(waitpid(run->pid[i], NULL, 0), run->pid[i]);
		(void)snprintf(path, sizeof(path), "%s/large%d", run->dir, i);
		CHECK_INT(unlink(path), 0);
	}
	CHECK_INT(rmdir(run->dir), 0);
	otelprof_free(run->p);
}

/* As a host with an epoll of its own does: a call once the descriptor is readable. */
static void poll_once(struct run *run)
{
	struct pollfd fd = { .fd = otelprof_get_fd(run->p), .events = POLLIN };
	int64_t cpu_ns;
	bool worked;
	int r;

	CHECK(fd.fd >= 0);
	CHECK_INT(poll(&fd, 1, READABLE_MS), 1);
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	r = otelprof_poll(run->p, WAIT_MS);
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	CHECK_OK(r);
	/* a call that waited to its end has done many little things */
	worked = r > 0 && cpu_ns > (int64_t)run->budget_ms * NS_PER_MS / LITTLE;
	run->polls += worked;
	run->cpu_ns += worked ? cpu_ns : 0;
	run->late += cpu_ns > (int64_t)(run->budget_ms + PIECE_MS) * NS_PER_MS;
	run->longest_ns = cpu_ns > run->longest_ns ? cpu_ns : run->longest_ns;
}

static void poll_until_quiet(struct run *run)
{
	int64_t worked_ns = clock_ns(CLOCK_MONOTONIC);
	int64_t polls;

	do {
		polls = run->polls;
		poll_once(run);
		if (run->polls != polls)
			worked_ns = clock_ns(CLOCK_MONOTONIC);
	} while (clock_ns(CLOCK_MONOTONIC) < worked_ns + (int64_t)QUIET_MS * NS_PER_MS);
}

static void run_with(uint32_t budget_ms, struct run *run)
{
	int64_t until = clock_ns(CLOCK_MONOTONIC) + (int64_t)LIMIT_S * 1000 * NS_PER_MS;
	struct otelprof_stats s;
	int64_t stopped_polls;
	uint64_t before;

	begin(run, budget_ms);
	before = stats_of(run->p).arena_bytes;
	signal_all(run, SIGCONT);
	do {
		poll_once(run);
		s = stats_of(run->p);
	} while (s.samples_taken - s.samples_filtered < SAMPLES &&
		 clock_ns(CLOCK_MONOTONIC) < until);
	/* now no sample asks for anything: what is left is done all the same */
	signal_all(run, SIGSTOP);
	stopped_polls = run->polls;
	poll_until_quiet(run);
	stopped_polls = run->polls - stopped_polls;
	printf("  %lld polls worked after the last sample; %.1f MB of tables then\n",
	       (long long)stopped_polls,
	       (double)(stats_of(run->p).arena_bytes - before) / 1e6);
	/* if the scheduler left one out until now, it has its samples now */
	signal_all(run, SIGCONT);
	do {
		poll_once(run);
		s = stats_of(run->p);
	} while (s.arena_bytes < before + (uint64_t)PROGRAMS * TABLE_BYTES &&
		 clock_ns(CLOCK_MONOTONIC) < until);
	CHECK(s.arena_bytes >= before + (uint64_t)PROGRAMS * TABLE_BYTES);
	signal_all(run, SIGSTOP);
	poll_until_quiet(run);
	printf("  %u ms: %lld polls that worked, %.2f ms each, the "
	       "longest %.2f ms, %lld late; %.1f MB of tables\n",
	       budget_ms, (long long)run->polls,
	       (double)run->cpu_ns / (double)(run->polls ? run->polls : 1) / NS_PER_MS,
	       (double)run->longest_ns / NS_PER_MS, (long long)run->late,
	       (double)(s.arena_bytes - before) / 1e6);
	CHECK_OK(otelprof_stop(run->p));
	CHECK_OK(otelprof_export(run->p));
	s = stats_of(run->p);
	CHECK(run->exported > 0);
	CHECK_INT(s.samples_exported, run->exported);
	CHECK_INT(s.samples_taken,
		  s.samples_exported + s.samples_filtered + s.samples_dropped);
	end(run);
}

static void test_a_poll_keeps_its_budget(void)
{
	struct run small;
	struct run large;

	run_with(SMALL_MS, &small);
	run_with(LARGE_MS, &large);
	CHECK(small.late * LATE_ONE_IN <= small.polls);
	/* the same work in fewer and longer polls */
	CHECK(small.polls > 2 * large.polls);
	CHECK(large.cpu_ns * small.polls > 2 * small.cpu_ns * large.polls);
}

TEST_MAIN({ "a_poll_keeps_its_budget", test_a_poll_keeps_its_budget })
