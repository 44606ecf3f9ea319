/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for locks end to end. A child's thread takes a mutex, and another one waits for it,
 * a known number of times in two known places: the profile must say how often, and how long
 * by the waiter's clock, whether each wait is taken or one in many.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <otelprof/otelprof.h>

#include "kind_profile.h"
#include "on_cpu.h"
#include "otlp/reader.h"
#include "test.h"

enum {
	PLACES = 2, /* waits_long(), waits_short(): three times as long */
	FEW = 200,  /* waits, of a millisecond and three */
	FEW_NS = 1000000,
	MANY = 48000, /* shorter ones, more a second than are taken */
	MANY_NS = 50000,
	OFF = 30, /* thousandths, of all waits */
	/* of one place's, where a part stands for all: chance alone gives 1.3 % for the short ones,
	 * and 0.5 % for both places */
	OFF_PART = 60,
	DRAINS = 50,
	RING_BYTES = 16 << 20,
};

struct request {
	int64_t waits;
	int64_t hold_ns;
};

struct answer {
	int64_t count[PLACES];
	struct off_ns delay_ns[PLACES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the child ---- */

/* Who holds the lock: told to take it, says so, and gives it up after a while. */
struct holder {
	int to;
	int from;
};

static void *hold(void *arg)
{
	struct holder *h = arg;
	int64_t ns;

	while (read(h->from, &ns, sizeof(ns)) == sizeof(ns) && ns) {
		struct timespec t = { .tv_nsec = ns };

		(void)pthread_mutex_lock(&lock);
		(void)!write(h->to, &ns, sizeof(ns));
		(void)nanosleep(&t, NULL);
		(void)pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static PLACE void waits_long(void)
{
	(void)pthread_mutex_lock(&lock);
	STAYS("long");
}

static PLACE void waits_short(void)
{
	(void)pthread_mutex_lock(&lock);
	STAYS("short");
}

static struct rusage usage(void)
{
	struct rusage r;

	CHECK_OK(getrusage(RUSAGE_THREAD, &r));
	return r;
}

static void work(const struct request *q, struct answer *a)
{
	int task_clock = task_clock_open(false);
	struct holder mine;
	struct holder other;
	pthread_t thread;
	int64_t end = 0;
	int there[2];
	int back[2];
	int64_t i;

	CHECK_OK(pipe2(there, O_CLOEXEC));
	CHECK_OK(pipe2(back, O_CLOEXEC));
	mine = (struct holder){ .to = there[1], .from = back[0] };
	other = (struct holder){ .to = back[1], .from = there[0] };
	CHECK_OK(pthread_create(&thread, NULL, hold, &other));
	for (i = 0; i < q->waits; i++) {
		int64_t ns = i & 1 ? q->hold_ns : 3 * q->hold_ns;
		struct rusage before;
		struct rusage after;
		struct off_ns begin;
		struct off_ns waited;

		(void)!write(mine.to, &ns, sizeof(ns));
		(void)!read(mine.from, &ns, sizeof(ns));
		if (pthread_mutex_trylock(&lock) == 0) {
			/* it was held and given up before we came */
			(void)pthread_mutex_unlock(&lock);
			continue;
		}
		/* a lock that is given up just now is not waited for, and one that a third
		 * thread has taken is waited for once more */
		before = usage();
		begin = off_begin(CLOCK_THREAD_CPUTIME_ID, task_clock, 1);
		if (i & 1)
			waits_short();
		else
			waits_long();
		waited = off_end(begin, CLOCK_THREAD_CPUTIME_ID, task_clock, 1);
		after = usage();
		/* who lost its CPU to others did not wait for the lock meanwhile */
		if (after.ru_nivcsw == before.ru_nivcsw)
			a->delay_ns[i & 1].least += waited.least;
		a->delay_ns[i & 1].most += waited.most;
		a->count[i & 1] += after.ru_nvcsw - before.ru_nvcsw;
		(void)pthread_mutex_unlock(&lock);
	}
	(void)!write(mine.to, &end, sizeof(end));
	CHECK_OK(pthread_join(thread, NULL));
	(void)close(task_clock);
	(void)close(there[0]);
	(void)close(there[1]);
	(void)close(back[0]);
	(void)close(back[1]);
}

static void serve(int from, int to)
{
	struct request q;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_TIMERSLACK, 1);
	while (read(from, &q, sizeof(q)) == sizeof(q)) {
		struct answer a = { 0 };

		work(&q, &a);
		(void)!write(to, &a, sizeof(a));
	}
	_exit(0);
}

/* ---- the profile ---- */

/* What the requests say of stacks that hold a place. */
struct got {
	int64_t count[PLACES];
	int64_t delay_ns[PLACES];
	uint64_t others; /* samples of another type */
};

static int add_sample(void *data, const struct otlp_sample_view *s)
{
	static const char *const name[PLACES] = { "waits_long", "waits_short" };
	struct got *got = data;
	size_t i;
	int p;

	for (i = 0; i < s->frames_len; i++)
		for (p = 0; p < PLACES; p++) {
			if (!otlp_text_is(s->frames[i].function, name[p]))
				continue;
			if (otlp_text_is(s->type, "contentions") &&
			    otlp_text_is(s->unit, "count"))
				got->count[p] += s->value;
			else if (otlp_text_is(s->type, "delay") &&
				 otlp_text_is(s->unit, "nanoseconds"))
				got->delay_ns[p] += s->value;
			else
				got->others++;
		}
	return 0;
}

static void on_violation(void *data, const char *sentence, uint64_t cases)
{
	TEST_FAIL("%s (%llu)", sentence, (unsigned long long)cases);
}

static int take(void *userdata, const void *request, size_t len, uint64_t samples)
{
	struct otlp_profiles *p = NULL;
	const char *reason = NULL;

	if (otlp_read(request, len, &p, &reason))
		TEST_FAIL("not readable: %s", reason);
	CHECK_INT(otlp_check(p, on_violation, NULL), 0);
	CHECK_OK(otlp_each_sample(p, add_sample, userdata));
	(void)otlp_free(p);
	return 0;
}

static struct otelprof *make(struct got *got, const struct kind_child *c,
			     uint32_t samples)
{
	struct otelprof_callback_config callback;
	struct otelprof_config config;
	struct otelprof *p;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_LOCKS;
	config.off_cpu_samples = samples;
	config.ring_bytes = RING_BYTES;
	p = kind_open(&config, c->pid);
	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = take;
	callback.userdata = got;
	CHECK_OK(otelprof_exporter_callback(p, &callback));
	CHECK_OK(otelprof_start(p));
	return p;
}

/* Poll until the child has answered and all is exported. */
static struct answer ask(struct otelprof *p, const struct kind_child *c, int64_t waits,
			 int64_t hold_ns)
{
	struct pollfd answered = { .fd = c->from, .events = POLLIN };
	struct request q = { .waits = waits, .hold_ns = hold_ns };
	int64_t stolen = stolen_ns();
	struct answer a;
	int i;

	CHECK_INT(write(c->to, &q, sizeof(q)), sizeof(q));
	while (poll(&answered, 1, 0) == 0)
		CHECK_OK(otelprof_poll(p, 20));
	CHECK_INT(read(c->from, &a, sizeof(a)), sizeof(a));
	stolen = stolen_ns() - stolen;
	for (i = 0; i < PLACES; i++)
		off_stolen(&a.delay_ns[i], stolen);
	for (i = 0; i < DRAINS; i++)
		CHECK_OK(otelprof_poll(p, 5));
	CHECK_OK(otelprof_export(p));
	return a;
}

static void check_closed(struct otelprof *p)
{
	struct otelprof_stats s;
	uint64_t dropped;

	CHECK_OK(otelprof_stop(p));
	CHECK_OK(otelprof_export(p));
	CHECK_OK(otelprof_flush(p, 5000));
	otelprof_stats_init(&s, sizeof(s));
	CHECK_OK(otelprof_get_stats(p, &s));
	dropped = s.samples_dropped;
	printf("  taken %llu = exported %llu + filtered %llu + dropped %llu; T %llu ns\n",
	       (unsigned long long)s.samples_taken,
	       (unsigned long long)s.samples_exported,
	       (unsigned long long)s.samples_filtered, (unsigned long long)dropped,
	       (unsigned long long)s.off_cpu_threshold_ns);
	CHECK_INT(s.samples_pending, 0);
	CHECK_INT(s.samples_taken, s.samples_exported + s.samples_filtered + dropped);
}

static void check_near(const char *what, int64_t got, int64_t want, int64_t off)
{
	printf("  %s: %lld, wanted %lld\n", what, (long long)got, (long long)want);
	CHECK(got * 1000 >= want * (1000 - off) && got * 1000 <= want * (1000 + off));
}

static void check(int64_t waits, int64_t hold_ns, uint32_t samples, int64_t off)
{
	struct kind_child c = kind_child_start(serve);
	struct got got = { 0 };
	struct otelprof *p = make(&got, &c, samples);
	struct answer a;

	/* what is met for the first time */
	(void)ask(p, &c, waits / 4, hold_ns);
	memset(&got, 0, sizeof(got));
	a = ask(p, &c, waits, hold_ns);
	check_closed(p);
	otelprof_free(p);
	kind_child_end(&c);
	check_near("contentions", got.count[0] + got.count[1], a.count[0] + a.count[1],
		   OFF);
	off_check("delay", got.delay_ns[0] + got.delay_ns[1],
		  (struct off_ns){ a.delay_ns[0].least + a.delay_ns[1].least,
				   a.delay_ns[0].most + a.delay_ns[1].most },
		  OFF);
	check_near("long: contentions", got.count[0], a.count[0], off);
	off_check("long: delay", got.delay_ns[0], a.delay_ns[0], (int)off);
	check_near("short: contentions", got.count[1], a.count[1], off);
	off_check("short: delay", got.delay_ns[1], a.delay_ns[1], (int)off);
	CHECK_INT(got.others, 0);
}

/* Each wait is taken. */
static void test_long_waits(void)
{
	check(FEW, FEW_NS, 2000, OFF);
}

/* So many that a part of them is. */
static void test_many_waits(void)
{
	check(MANY, MANY_NS, 3000, OFF_PART);
}

TEST_MAIN({ "long", test_long_waits }, { "many", test_many_waits })
