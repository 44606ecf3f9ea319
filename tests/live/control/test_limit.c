/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of memory: program after program with many functions needs names and an unwind
 * table of its own, far more than there is room for. What is kept stays within the limit: names
 * give way first.
 */
#include <fcntl.h>
#include <otelprof/otelprof.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kind.h"
#include "stats.h"
#include "test.h"

enum {
	LIMIT = 16 << 20,
	RATE_HZ = 500,
	PROGRAMS = 30,
	PROGRAMS_AFTER = 4,	 /* names had to go */
	RUN_MS = 60000,		 /* of one, at most */
	TABLE_BYTES = 400 << 10, /* of one, at least */
	NAMES_BYTES = 1 << 20,	 /* more than what is always there */
	POLL_MS = 10,
	REST_MS = 2500, /* more than the arena's grace period, and some looks */
	NS_PER_MS = 1000000,
};

static int64_t now_ns(void)
{
	struct timespec t;

	CHECK_INT(clock_gettime(CLOCK_MONOTONIC, &t), 0);
	return (int64_t)t.tv_sec * 1000 * NS_PER_MS + t.tv_nsec;
}

static int throw_away(void *userdata, const void *request, size_t len, uint64_t samples)
{
	return 0;
}

/* A copy with content of its own: what is behind an ELF file's sections means nothing. */
static void copy_to(const char *path, int number)
{
	static char bytes[1 << 16];
	const char *from_path = getenv("OTELPROF_TEST_LARGE");
	int from = from_path ? open(from_path, O_RDONLY | O_CLOEXEC) : -1;
	int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	ssize_t n;

	if (from < 0)
		SKIP("OTELPROF_TEST_LARGE is not given");
	CHECK(to >= 0);
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		CHECK_INT(write(to, bytes, (size_t)n), n);
	CHECK_INT(write(to, &number, sizeof(number)), sizeof(number));
	CHECK_INT(close(to), 0);
	CHECK_INT(close(from), 0);
}

static pid_t run(const char *path)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)execl(path, path, (char *)NULL);
		_exit(127);
	}
	return pid;
}

/* The most that was seen, and what was given up out of its order: names, tables, processes. */
struct seen {
	uint64_t bytes;
	uint64_t tables_early;
	uint64_t processes_early;
	struct otelprof_stats before; /* the last look */
};

static void look(struct seen *seen, const struct otelprof_stats *s)
{
	if (s->memory_bytes > seen->bytes)
		seen->bytes = s->memory_bytes;
	/* Tables go first where there are no names yet, which exports ask for. */
	if (!s->names_evicted && seen->before.symbol_bytes > NAMES_BYTES)
		seen->tables_early += s->tables_evicted - seen->before.tables_evicted;
	if (!s->tables_evicted)
		seen->processes_early = s->processes_evicted;
	seen->before = *s;
}

/* Poll until the unwind table of what was just begun is made, which a busy machine delays. */
static void poll_until_table(struct otelprof *p, struct seen *seen)
{
	int64_t until = now_ns() + (int64_t)RUN_MS * NS_PER_MS;
	struct otelprof_stats before = stats_of(p);
	struct otelprof_stats s;

	do {
		CHECK_OK(otelprof_poll(p, POLL_MS));
		s = stats_of(p);
		look(seen, &s);
	} while (s.arena_bytes < before.arena_bytes + TABLE_BYTES &&
		 s.tables_evicted == before.tables_evicted && now_ns() < until);
}

/* Sample @pid alone, so that what else runs here means nothing. */
static void sample_only(struct otelprof *p, pid_t pid)
{
	struct otelprof_rule rule = { .size = sizeof(rule),
				      .kind = OTELPROF_MATCH_PID,
				      .number = (uint64_t)pid };

	CHECK_OK(otelprof_set_rules(p, &rule, 1));
}

static void run_programs(struct otelprof *p, struct seen *seen)
{
	char dir[] = "/tmp/otelprof-limit-XXXXXX";
	char path[64];
	int after = 0;
	int i;

	CHECK(mkdtemp(dir));
	for (i = 0; i < PROGRAMS && after < PROGRAMS_AFTER; i++) {
		pid_t pid;

		(void)snprintf(path, sizeof(path), "%s/large%d", dir, i);
		copy_to(path, i);
		pid = run(path);
		sample_only(p, pid);
		poll_until_table(p, seen);
		(void)kill(pid, SIGKILL);
		CHECK_INT(waitpid(pid, NULL, 0), pid);
		CHECK_OK(otelprof_export(p));
		after += stats_of(p).names_evicted > 0;
	}
	while (i--) {
		(void)snprintf(path, sizeof(path), "%s/large%d", dir, i);
		CHECK_INT(unlink(path), 0);
	}
	CHECK_INT(rmdir(dir), 0);
}

static struct otelprof *start(uint64_t limit)
{
	struct otelprof_callback_config callback;
	struct otelprof_config config;
	struct otelprof *p;

	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = RATE_HZ;
	config.memory_limit_bytes = limit;
	p = kind_open(&config, getpid());
	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = throw_away;
	CHECK_OK(otelprof_exporter_callback(p, &callback));
	CHECK_OK(otelprof_start(p));
	return p;
}

static void print(const char *what, const struct seen *seen,
		  const struct otelprof_stats *s)
{
	printf("  %s: at most %.1f MB, %llu looks above; gave up names of %llu, tables %llu, "
	       "processes %llu; samples %llu, lost %llu\n",
	       what, (double)seen->bytes / 1e6, (unsigned long long)s->memory_over,
	       (unsigned long long)s->names_evicted,
	       (unsigned long long)s->tables_evicted,
	       (unsigned long long)s->processes_evicted,
	       (unsigned long long)(s->samples_taken - s->samples_filtered),
	       (unsigned long long)s->samples_dropped);
}

static void test_memory_stays_within_its_limit(void)
{
	struct seen seen = { 0 };
	struct otelprof *p = start(LIMIT);
	struct otelprof_stats s;
	int64_t until;

	run_programs(p, &seen);
	for (until = now_ns() + (int64_t)REST_MS * NS_PER_MS; now_ns() < until;)
		CHECK_OK(otelprof_poll(p, POLL_MS));
	s = stats_of(p);
	print("with a limit of 16.8 MB", &seen, &s);
	CHECK_INT(s.memory_limit_bytes, LIMIT);
	CHECK(s.names_evicted > 0);
	/* Not judged: of the bytes of names not all can go at each look. */
	printf("  %llu tables went before names\n",
	       (unsigned long long)seen.tables_early);
	CHECK_INT(seen.processes_early, 0);
	/* Between two looks names may be read; afterwards it is within the limit. */
	CHECK(seen.bytes <= LIMIT + LIMIT / 4);
	CHECK(s.memory_bytes <= LIMIT);
	CHECK(s.samples_taken - s.samples_filtered > 0);
	otelprof_free(p);
}

TEST_MAIN({ "memory_stays_within_its_limit", test_memory_stays_within_its_limit })
