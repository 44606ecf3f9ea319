/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads whose wait ends with them: killed by the end of their process, or replaced by an
 * exec of another thread. Their intervals are told as long as they lived; and a thread that
 * has the number of one of them later does not inherit its beginning.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kind_profile.h"

enum {
	THREADS = 40,
	LIVES = 6, /* three that exit, three that exec */
	LIFE_NS = 60000000,
	APART_NS = 300000000, /* between two lives of one thread number */
	SAMPLES = 20000,
};

/* One life of a process with threads that wait for ever. */
struct life {
	int64_t ns;    /* from before it was begun until it was waited for */
	int32_t first; /* number of its process */
	int32_t threads;
};

static void pause_ns(long ns)
{
	struct timespec t = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	(void)nanosleep(&t, NULL);
}

static PLACE void *waits_for_ever(void *arg)
{
	for (;;)
		(void)pause();
	STAYS("ever");
	return arg;
}

static void live(bool execs)
{
	char *const argv[] = { (char *)"true", NULL };
	pthread_t thread;
	int i;

	for (i = 0; i < THREADS; i++)
		CHECK_OK(pthread_create(&thread, NULL, waits_for_ever, NULL));
	pause_ns(LIFE_NS);
	if (execs)
		(void)execv("/bin/true", argv);
	_exit(0);
}

/* The next process gets this number, if it is free. */
static void choose_number(int32_t number)
{
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!dprintf(fd, "%d", number - 1);
	(void)close(fd);
}

static void serve(int from, int to)
{
	int32_t first = 0;
	char execs;

	while (read(from, &execs, 1) == 1) {
		struct life life = { .threads = THREADS };
		int64_t begin;

		pause_ns(APART_NS);
		if (first)
			choose_number(first);
		begin = kind_clock_ns(CLOCK_MONOTONIC);
		life.first = fork();
		if (life.first == 0)
			live(execs);
		CHECK(life.first > 0);
		CHECK_INT(waitpid(life.first, NULL, 0), life.first);
		life.ns = kind_clock_ns(CLOCK_MONOTONIC) - begin;
		if (!first)
			first = life.first;
		(void)!write(to, &life, sizeof(life));
	}
}

struct got {
	int64_t count;
	int64_t sum_ns;
	int64_t longest_ns;
};

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	const struct otlp_range values = s->sample->values;
	const int64_t *of = profile->profiles->values.data + values.first;
	struct got *got = profile->data;
	uint32_t i;

	if (kind_frame(s, "waits_for_ever") < 0)
		return;
	got->count += (int64_t)s->count;
	got->sum_ns += s->value;
	for (i = 0; i < values.len; i++)
		if (of[i] > got->longest_ns)
			got->longest_ns = of[i];
}

static void test_ends(void)
{
	struct kind_child c = kind_child_start(serve);
	struct otelprof_rule rule = { .size = sizeof(rule),
				      .kind = OTELPROF_MATCH_TREE,
				      .number = (uint64_t)c.pid };
	struct otelprof_config config;
	struct got got = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof *p;
	int reused = 0;
	int32_t first = 0;
	int i;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_OFF_CPU;
	config.off_cpu_samples = SAMPLES;
	p = kind_start(&config, c.pid, &profile);
	CHECK_OK(otelprof_set_rules(p, &rule, 1));
	for (i = 0; i < LIVES; i++) {
		char execs = i % 2 == 1;
		struct life life;

		memset(&got, 0, sizeof(got));
		kind_child_ask(p, &c, &execs, 1, &life, sizeof(life));
		printf("  %s after %lld ns: %lld intervals of %d threads, %lld ns, the "
		       "longest %lld\n",
		       execs ? "exec" : "exit", (long long)life.ns, (long long)got.count,
		       life.threads, (long long)got.sum_ns, (long long)got.longest_ns);
		reused += first && life.first == first;
		if (!first)
			first = life.first;
		CHECK(got.count > 0);
		CHECK(got.longest_ns <= life.ns);
		CHECK(got.sum_ns <= life.ns * life.threads);
		/* each waited for most of the life, and was woken to die */
		CHECK(got.sum_ns >= (int64_t)LIFE_NS / 2 * life.threads);
	}
	printf("  %d of %d lives had the number of the first\n", reused, LIVES - 1);
	(void)kind_close(p);
	kind_child_end(&c);
}

TEST_MAIN({ "ends", test_ends })
