/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wait that began before the recording and ends in it: what lies in the recording counts,
 * in each kind that tells of waits. So it is after a pause.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "kind_profile.h"

enum {
	BEFORE_NS = 300000000, /* not in the recording */
	WITHIN_NS = 400000000,
	LATE_NS = 60000000, /* a busy machine */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int rounds;

static void pause_ns(long ns)
{
	struct timespec t = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	(void)nanosleep(&t, NULL);
}

static PLACE void *waits(void *arg)
{
	int seen = 0;

	(void)pthread_mutex_lock(&lock);
	for (;;) {
		while (seen == rounds)
			(void)pthread_cond_wait(&changed, &lock);
		seen = rounds;
	}
	STAYS("waits");
	return arg;
}

static PLACE void ends_the_wait(void)
{
	(void)pthread_mutex_lock(&lock);
	rounds++;
	(void)pthread_cond_signal(&changed);
	(void)pthread_mutex_unlock(&lock);
	STAYS("ends");
}

static void serve(int from, int to)
{
	pthread_t thread;
	int64_t ns;
	char c;

	CHECK_OK(pthread_create(&thread, NULL, waits, NULL));
	while (read(from, &c, 1) == 1) {
		ns = kind_clock_ns(CLOCK_MONOTONIC);
		ends_the_wait();
		pause_ns(LATE_NS); /* it waits again before this is answered */
		(void)!write(to, &ns, sizeof(ns));
	}
}

struct got {
	const char *type;
	const char *unit;
	const char *function;
	int64_t ns;
};

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct got *got = profile->data;

	if (kind_is(s, got->type, got->unit) && kind_frame(s, got->function) >= 0)
		got->ns += s->value;
}

/* Let the recording go on, end the wait, and compare. The recording began between @least
 * and @most. */
static void end_wait(struct otelprof *p, const struct kind_child *c, struct got *got,
		     int64_t least, int64_t most)
{
	int64_t until = most + WITHIN_NS;
	int64_t ns;

	while (kind_clock_ns(CLOCK_MONOTONIC) < until)
		CHECK(otelprof_poll(p, 20) >= 0);
	kind_child_ask(p, c, "", 1, &ns, sizeof(ns));
	printf("  %s: %lld ns, wanted %lld to %lld\n", got->type, (long long)got->ns,
	       (long long)(ns - most), (long long)(ns - least));
	CHECK(got->ns >= ns - most - LATE_NS && got->ns <= ns - least + LATE_NS);
}

static void check(uint64_t kinds, struct got got)
{
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct kind_child c = kind_child_start(serve);
	struct otelprof_config config;
	struct otelprof *p;
	int64_t least;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = kinds;
	pause_ns(BEFORE_NS);
	least = kind_clock_ns(CLOCK_MONOTONIC);
	p = kind_start(&config, c.pid, &profile);
	end_wait(p, &c, &got, least, kind_clock_ns(CLOCK_MONOTONIC));

	CHECK_OK(otelprof_pause(p));
	pause_ns(BEFORE_NS);
	got.ns = 0;
	least = kind_clock_ns(CLOCK_MONOTONIC);
	CHECK_OK(otelprof_resume(p));
	end_wait(p, &c, &got, least, kind_clock_ns(CLOCK_MONOTONIC));
	(void)kind_close(p);
	kind_child_end(&c);
}

static void test_off_cpu(void)
{
	check(OTELPROF_KIND_OFF_CPU,
	      (struct got){ "off_cpu", "nanoseconds", "waits", 0 });
}

static void test_wall(void)
{
	check(OTELPROF_KIND_WALL, (struct got){ "wall", "nanoseconds", "waits", 0 });
}

static void test_locks(void)
{
	check(OTELPROF_KIND_LOCKS, (struct got){ "delay", "nanoseconds", "waits", 0 });
}

static void test_wakers(void)
{
	check(OTELPROF_KIND_WAKERS,
	      (struct got){ "off_cpu_wakers", "nanoseconds", "ends_the_wait", 0 });
}

TEST_MAIN({ "off_cpu", test_off_cpu }, { "wall", test_wall }, { "locks", test_locks },
	  { "wakers", test_wakers })
