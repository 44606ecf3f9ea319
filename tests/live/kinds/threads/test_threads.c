/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot of threads end to end. A child has 500 threads in five known places, which wait
 * in five ways, and one that works: the profile of one export must count each exactly.
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include <otelprof/otelprof.h>

#include "kind_profile.h"
#include "test.h"

enum {
	WAYS = 5,
	THREADS = 500,
	STACK_BYTES = 128 * 1024,
	DEPTH = 20, /* calls between a thread's begin and the place */
	TRIES = 200,
	TRY_MS = 20,
	EXPORTS = 5,	 /* in which all stacks are there */
	LATE_MOST = 100, /* others: a busy machine has no time for 500 stacks */
	FAR_THREADS = 1000,
	FAR_DEPTH = 220, /* calls whose frames are a page each */
	FAR_STACK_BYTES = 1 << 20,
	FAR_EXPORTS = 4,
	FAR_REST = 2,	      /* of an export of the same threads, not far down */
	LIMIT_NS = 500000000, /* of the walks of a process */
};

/* So many in each place: the sum is THREADS. */
static const int COUNT[WAYS] = { 180, 140, 100, 60, 20 };
static const char *const PLACE_NAME[WAYS] = { "sleeps_here", "reads_here", "locks_here",
					      "polls_here", "waits_here" };

static int pipes[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

/* ---- the child ---- */

static PLACE void sleeps_here(void)
{
	struct timespec t = { .tv_sec = 3600 };

	(void)nanosleep(&t, NULL);
	STAYS("sleeps");
}

static PLACE void reads_here(void)
{
	char c;

	(void)!read(pipes[0], &c, 1);
	STAYS("reads");
}

static PLACE void locks_here(void)
{
	(void)pthread_mutex_lock(&lock);
	STAYS("locks");
}

static PLACE void polls_here(void)
{
	struct pollfd fd = { .fd = pipes[0], .events = POLLIN };

	(void)poll(&fd, 1, -1);
	STAYS("polls");
}

static PLACE void waits_here(void)
{
	(void)pthread_mutex_lock(&other);
	for (;;)
		(void)pthread_cond_wait(&never, &other);
	STAYS("waits");
}

/* Frames of a size that a copy of 12 KiB would not hold. */
static PLACE void deeper(long way, int depth)
{
	static void (*const wait[WAYS])(void) = { sleeps_here, reads_here, locks_here,
						  polls_here, waits_here };
	volatile char room[1024];

	room[0] = (char)depth;
	if (depth)
		deeper(way, depth - 1);
	else
		wait[way]();
	STAYS("deeper");
	room[1] = room[0];
}

static void *thread_main(void *arg)
{
	deeper((long)arg, DEPTH);
	return NULL;
}

static PLACE void works_here(void)
{
	volatile long i = 0;

	for (;;)
		i++;
}

static void *work(void *arg)
{
	works_here();
	return arg;
}

static void serve(int from, int to)
{
	pthread_attr_t attr;
	pthread_t thread;
	long way;
	char go;
	int i;

	CHECK_OK(pipe2(pipes, O_CLOEXEC));
	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstacksize(&attr, STACK_BYTES));
	(void)pthread_mutex_lock(&lock);
	for (way = 0; way < WAYS; way++)
		for (i = 0; i < COUNT[way]; i++)
			CHECK_OK(
				pthread_create(&thread, &attr, thread_main, (void *)way));
	CHECK_OK(pthread_create(&thread, &attr, work, NULL));
	while (read(from, &go, 1) == 1)
		(void)!write(to, &go, 1);
}

static int far_depth;

static PLACE void far_down(int depth)
{
	volatile char room[4096];

	room[0] = (char)depth;
	if (depth)
		far_down(depth - 1);
	else
		sleeps_here();
	STAYS("far");
	room[1] = room[0];
}

static void *far_main(void *arg)
{
	far_down(far_depth);
	return arg;
}

static void serve_far(int from, int to)
{
	pthread_attr_t attr;
	pthread_t thread;
	char go;
	int i;

	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstacksize(&attr, FAR_STACK_BYTES));
	for (i = 0; i < FAR_THREADS; i++)
		CHECK_OK(pthread_create(&thread, &attr, far_main, NULL));
	while (read(from, &go, 1) == 1)
		(void)!write(to, &go, 1);
}

/* ---- the profile ---- */

struct got {
	int64_t place[WAYS]; /* with whole stacks and the state sleeping */
	int64_t running;
	int64_t all;
	int64_t cut;
	int64_t late; /* for whose user stacks there was no time */
};

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct got *got = profile->data;
	char root[256];
	int depth = 0;
	size_t i;
	int way;

	CHECK(kind_is(s, "threads", "count"));
	got->all += s->value;
	if (kind_frame(s, "[running]") >= 0 || kind_frame(s, "works_here") >= 0)
		got->running += s->value;
	if (kind_frame(s, "[unwind error: native_late]") >= 0)
		got->late += s->value;
	for (way = 0; way < WAYS; way++)
		if (kind_frame(s, PLACE_NAME[way]) >= 0)
			break;
	if (way == WAYS)
		return;
	for (i = 0; i < s->frames_len; i++)
		depth += otlp_text_is(s->frames[i].function, "deeper");
	/* the C library may have no names; a walk that failed ends in "[...]" */
	(void)otlp_frame_name(&s->frames[s->frames_len - 1], root, sizeof(root));
	if (depth == DEPTH + 1 && kind_says(profile, s, "thread.state", "sleeping") &&
	    kind_frame(s, "thread_main") >= 0 && root[0] != '[')
		got->place[way] += s->value;
	else
		got->cut += s->value;
	if (got->cut && got->cut == s->value)
		kind_print(s);
}

static bool all_there(const struct got *got)
{
	int way;

	for (way = 0; way < WAYS; way++)
		if (got->place[way] != COUNT[way])
			return false;
	return true;
}

static void test_each_thread_counts_once(void)
{
	struct kind_child c = kind_child_start(serve);
	struct got got;
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof_config config;
	struct otelprof *p;
	int64_t begin;
	int late = 0;
	int way;
	int i;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_THREADS;
	p = kind_start(&config, c.pid, &profile);
	/* until the child's threads are all where they are to be */
	for (i = 0; i < TRIES; i++) {
		memset(&got, 0, sizeof(got));
		CHECK_OK(otelprof_poll(p, TRY_MS));
		CHECK_OK(otelprof_export(p));
		if (all_there(&got))
			break;
	}
	printf("  all are there at the export number %d\n", i + 1);
	/* and once they are, at every export that has the time */
	for (i = 0; i < EXPORTS + late; i++) {
		memset(&got, 0, sizeof(got));
		begin = kind_clock_ns(CLOCK_MONOTONIC);
		CHECK_OK(otelprof_export(p));
		printf("  an export took %lld us\n",
		       (long long)(kind_clock_ns(CLOCK_MONOTONIC) - begin) / 1000);
		/* and the one that answers us */
		CHECK_INT(got.all, THREADS + 2);
		if (got.late) {
			printf("  %lld of its stacks came too late\n",
			       (long long)got.late);
			CHECK(++late <= LATE_MOST);
			continue;
		}
		for (way = 0; way < WAYS; way++)
			CHECK_INT(got.place[way], COUNT[way]);
		CHECK_INT(got.cut, 0);
		CHECK_INT(got.running, 1);
	}
	CHECK_INT(kind_programs("op_threads"), 1);
	CHECK_OK(otelprof_set_kinds(p, OTELPROF_KIND_CPU));
	CHECK_INT(kind_programs("op_threads"), 0);
	CHECK_INT(kind_close(p), 0);
	kind_child_end(&c);
}

/* Counts threads, and those without a user stack since the time was over. */
static void add_far(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct got *got = profile->data;

	got->all += s->value;
	if (kind_frame(s, "[unwind error: native_late]") >= 0)
		got->cut += s->value;
}

/* Threads wait @depth calls down. Returns the least CPU time of an export. */
static int64_t export_cpu_ns(int depth)
{
	struct kind_child c;
	struct got got;
	struct kind_profile profile = { .fn = add_far, .data = &got };
	struct otelprof_config config;
	struct otelprof *p;
	int64_t least_ns = INT64_MAX;
	int64_t ns;
	int i;

	far_depth = depth;
	c = kind_child_start(serve_far);
	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_THREADS;
	p = kind_start(&config, c.pid, &profile);
	for (i = 0; i < FAR_EXPORTS; i++) {
		CHECK_OK(otelprof_poll(p, TRY_MS));
		memset(&got, 0, sizeof(got));
		ns = kind_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		CHECK_OK(otelprof_export(p));
		ns = kind_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - ns;
		printf("  an export took %lld ms: %lld threads, %lld of them late\n",
		       (long long)ns / 1000000, (long long)got.all, (long long)got.cut);
		/* in the first one threads may be on their way down */
		if (i && ns < least_ns)
			least_ns = ns;
	}
	CHECK_INT(got.all, FAR_THREADS + 1);
	CHECK_INT(kind_close(p), 0);
	kind_child_end(&c);
	return least_ns;
}

/* Threads with stacks that take long to walk do not hold up an export; all of them
 * count. */
static void test_time_is_limited(void)
{
	int64_t rest_ns = export_cpu_ns(0);

	CHECK(export_cpu_ns(FAR_DEPTH) < LIMIT_NS + FAR_REST * rest_ns);
}

/* ---- waits that have not ended when sampling stops ---- */

enum {
	KINDS = 3,
	WAIT_MS = 400,
};

static const char *const TYPE[KINDS] = { "off_cpu", "wall", "delay" };

struct open {
	int64_t threads[KINDS][WAYS];
	int64_t late[KINDS];
	int64_t least_ns;
	int64_t most_ns;
	struct got got; /* the kind threads */
};

static void add_open(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct open *open = profile->data;
	struct kind_profile threads = { .profiles = profile->profiles,
					.data = &open->got };
	const struct otlp_range values = s->sample->values;
	const int64_t *of = profile->profiles->values.data + values.first;
	uint32_t i;
	int kind, way;

	if (kind_is(s, "threads", "count"))
		add_sample(&threads, s);
	for (kind = 0; kind < KINDS && !otlp_text_is(s->type, TYPE[kind]); kind++)
		;
	if (kind == KINDS)
		return;
	if (kind_frame(s, "[unwind error: native_late]") >= 0)
		open->late[kind] += values.len;
	for (way = 0; way < WAYS && kind_frame(s, PLACE_NAME[way]) < 0; way++)
		;
	if (way == WAYS)
		return;
	open->threads[kind][way] += values.len;
	for (i = 0; i < values.len; i++) {
		open->least_ns = of[i] < open->least_ns ? of[i] : open->least_ns;
		open->most_ns = of[i] > open->most_ns ? of[i] : open->most_ns;
	}
}

/* Each counts once, from the start or from its beginning until the stop. */
static void test_open_waits(void)
{
	struct kind_child c = kind_child_start(serve);
	struct open open = { .least_ns = INT64_MAX };
	struct kind_profile profile = { .fn = add_open, .data = &open };
	struct otelprof_config config;
	struct otelprof *p;
	int64_t start_ns, there_ns, stop_ns, all;
	int kind, way, i;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_OFF_CPU | OTELPROF_KIND_WALL | OTELPROF_KIND_LOCKS |
		       OTELPROF_KIND_THREADS;
	start_ns = kind_clock_ns(CLOCK_MONOTONIC);
	p = kind_start(&config, c.pid, &profile);
	for (i = 0; i < TRIES && !all_there(&open.got); i++) {
		memset(&open.got, 0, sizeof(open.got));
		CHECK_OK(otelprof_poll(p, TRY_MS));
		CHECK_OK(otelprof_export(p));
	}
	CHECK(all_there(&open.got));
	there_ns = kind_clock_ns(CLOCK_MONOTONIC);
	while (kind_clock_ns(CLOCK_MONOTONIC) - there_ns < WAIT_MS * 1000000LL)
		CHECK_OK(otelprof_poll(p, TRY_MS));
	CHECK_OK(otelprof_export(p));
	/* what waited to get there has ended */
	memset(open.threads, 0, sizeof(open.threads));
	memset(open.late, 0, sizeof(open.late));
	open.least_ns = INT64_MAX;
	open.most_ns = 0;
	stop_ns = kind_clock_ns(CLOCK_MONOTONIC);
	CHECK_INT(kind_close(p), 0);
	printf("  waits of %lld to %lld ms, there for %lld ms, recorded for %lld\n",
	       (long long)open.least_ns / 1000000, (long long)open.most_ns / 1000000,
	       (long long)(stop_ns - there_ns) / 1000000,
	       (long long)(stop_ns - start_ns) / 1000000);
	CHECK(open.least_ns >= stop_ns - there_ns);
	CHECK(open.most_ns <= kind_clock_ns(CLOCK_MONOTONIC) - start_ns);
	for (kind = 0; kind < KINDS; kind++) {
		/* a lock and a condition are waits in futex(2) */
		bool futex = strcmp(TYPE[kind], "delay") == 0;

		for (all = 0, way = 0; way < WAYS; way++) {
			bool wanted = !futex || !strcmp(PLACE_NAME[way], "locks_here") ||
				      !strcmp(PLACE_NAME[way], "waits_here");

			CHECK(open.threads[kind][way] <= (wanted ? COUNT[way] : 0));
			all += wanted ? COUNT[way] - open.threads[kind][way] : 0;
		}
		printf("  %s: %lld came too late\n", TYPE[kind], (long long)all);
		CHECK(all <= open.late[kind]);
	}
	kind_child_end(&c);
}

TEST_MAIN({ "threads", test_each_thread_counts_once }, { "time", test_time_is_limited },
	  { "open", test_open_waits })
