/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of who wakes: in a child, a thread is woken from three places, after 5, 3 and 2 ms
 * of sleep. The profile must tell these places, with 50, 30 and 20 % of the time from when
 * the thread went to sleep until it was woken, by the clock of the two, and which thread it
 * was; and in all as much as the samples of time off the CPUs that name the same waker, less
 * what the woken thread waited for a CPU.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "kind_profile.h"
#include "test.h"

enum {
	PLACES = 3,
	ROUNDS = 60,
	MS = 1000000,
	DEPTH = 20,
	SLEEPS = 100, /* of 2 ms */
	RUNNERS_MAX = 16,
	POINTS = 2,  /* of 100, of a share: the waker may lose its CPU before it wakes */
	PERCENT = 3, /* of a sum */
	POINTS_EMULATED = 6,
	PERCENT_EMULATED = 20,
	WAITING = 15, /* of 100, at most: what woken threads wait for a CPU */
};

static const int PAUSE_MS[PLACES] = { 5, 3, 2 };
static const char SLEEPER[] = "test-sleeper";

static sem_t semaphore;
static int64_t woken_at[ROUNDS * PLACES];
static int to_sleeper[2];

/* ---- the child ---- */

static PLACE void pause_ms(int ms)
{
	struct timespec t = { .tv_nsec = (long)ms * MS };

	(void)nanosleep(&t, NULL);
	STAYS("pause");
}

static PLACE void wakes_by_pipe(void)
{
	(void)!write(to_sleeper[1], "w", 1);
	STAYS("pipe");
}

static PLACE void wakes_by_futex(void)
{
	(void)sem_post(&semaphore);
	STAYS("futex");
}

static PLACE void wakes_deep_down(int depth)
{
	if (depth)
		wakes_deep_down(depth - 1);
	else
		(void)!write(to_sleeper[1], "w", 1);
	STAYS("deep");
}

static PLACE void waits(int place)
{
	char c;

	if (place == 1)
		(void)sem_wait(&semaphore);
	else
		(void)!read(to_sleeper[0], &c, 1);
	STAYS("waits");
}

static PLACE void *runs(void *stop)
{
	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED))
		STAYS("runs");
	return NULL;
}

/* Sleep while other threads run on all CPUs: an interrupt wakes, on top of one of them. */
static void sleep_among_others(void)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t thread[RUNNERS_MAX];
	int stop = 0;
	int i;

	if (cpus > RUNNERS_MAX)
		cpus = RUNNERS_MAX;
	for (i = 0; i < cpus; i++)
		CHECK_OK(pthread_create(&thread[i], NULL, runs, &stop));
	for (i = 0; i < SLEEPS; i++)
		pause_ms(2);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < cpus; i++)
		CHECK_OK(pthread_join(thread[i], NULL));
}

struct answer {
	int64_t ns[PLACES];
	int64_t waker; /* tid */
	int64_t sleeper;
};

static void *sleeps(void *arg)
{
	struct answer *a = arg;
	int64_t begin;
	int i;

	(void)prctl(PR_SET_NAME, SLEEPER);
	a->sleeper = gettid();
	for (i = 0; i < ROUNDS * PLACES; i++) {
		begin = kind_clock_ns(CLOCK_MONOTONIC);
		waits(i % PLACES);
		/* it may have come after the wake-up, and not slept */
		if (woken_at[i] > begin)
			a->ns[i % PLACES] += woken_at[i] - begin;
	}
	return NULL;
}

static void serve(int from, int to)
{
	pthread_t thread;
	struct answer a;
	char go;
	int i;

	CHECK_OK(sem_init(&semaphore, 0, 0));
	CHECK_OK(pipe2(to_sleeper, O_CLOEXEC));
	while (read(from, &go, 1) == 1) {
		a = (struct answer){ .waker = gettid() };
		if (go == 'i') {
			sleep_among_others();
			(void)!write(to, &a, sizeof(a));
			continue;
		}
		CHECK_OK(pthread_create(&thread, NULL, sleeps, &a));
		for (i = 0; i < ROUNDS * PLACES; i++) {
			pause_ms(PAUSE_MS[i % PLACES]);
			woken_at[i] = kind_clock_ns(CLOCK_MONOTONIC);
			if (i % PLACES == 0)
				wakes_by_pipe();
			else if (i % PLACES == 1)
				wakes_by_futex();
			else
				wakes_deep_down(DEPTH);
		}
		CHECK_OK(pthread_join(thread, NULL));
		(void)!write(to, &a, sizeof(a));
	}
}

/* ---- the profile ---- */

struct got {
	int64_t ns[PLACES];
	int64_t off_ns; /* of time off the CPUs, whose waker is the thread of the places */
	int64_t by_others; /* woken in a thread that only runs */
	int64_t slept;	   /* of time off the CPUs in pause_ms() */
	int64_t others;	   /* in a place, and not as it should be */
	int64_t deep;	   /* ns with the whole of the deep stack */
	struct answer a;
	bool printed;
};

static const char *const PLACE_NAME[PLACES] = { "wakes_by_pipe", "wakes_by_futex",
						"wakes_deep_down" };
static const char *const REASON[PLACES] = { "sleep", "futex", "sleep" };

static size_t frames_of(const struct otlp_sample_view *s, const char *function)
{
	size_t n = 0;
	size_t i;

	for (i = 0; i < s->frames_len; i++)
		n += otlp_text_is(s->frames[i].function, function);
	return n;
}

static int64_t number_of(struct kind_profile *profile, const struct otlp_sample_view *s,
			 const char *key)
{
	const struct otlp_attribute *a = kind_attribute(profile, s, key);

	return a ? a->integer : 0;
}

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct got *got = profile->data;
	int p;

	if (kind_is(s, "off_cpu", "nanoseconds") && kind_frame(s, "waits") >= 0 &&
	    number_of(profile, s, "waker.thread.id") == got->a.waker)
		got->off_ns += s->value;
	if (kind_is(s, "off_cpu", "nanoseconds") && kind_frame(s, "pause_ms") >= 0)
		got->slept += s->value;
	if (!kind_is(s, "off_cpu_wakers", "nanoseconds"))
		return;
	if (kind_frame(s, "runs") >= 0)
		got->by_others += s->value;
	for (p = 0; p < PLACES; p++)
		if (kind_frame(s, PLACE_NAME[p]) >= 0)
			break;
	if (p == PLACES)
		return;
	if (!got->printed)
		kind_print(s);
	got->printed = true;
	if (!kind_says(profile, s, "off_cpu.reason", REASON[p]) ||
	    !kind_says(profile, s, "woken.thread.name", SLEEPER) ||
	    !number_of(profile, s, "woken.process.pid")) {
		kind_print(s);
		got->others++;
		return;
	}
	got->ns[p] += s->value;
	if (p == 2 && frames_of(s, PLACE_NAME[2]) == DEPTH + 1)
		got->deep += s->value;
}

static void check(const struct got *got, const struct answer *a)
{
	bool slow = getenv("OTELPROF_EMULATED"); /* tests/system/vm says so */
	double points = slow ? POINTS_EMULATED : POINTS;
	int percent = slow ? PERCENT_EMULATED : PERCENT;
	int64_t want = a->ns[0] + a->ns[1] + a->ns[2];
	int64_t sum = got->ns[0] + got->ns[1] + got->ns[2];
	int p;

	printf("  %lld ns, %lld by the clock, %lld off the CPUs by this waker\n",
	       (long long)sum, (long long)want, (long long)got->off_ns);
	CHECK_INT(got->others, 0);
	CHECK(sum > 0);
	for (p = 0; p < PLACES; p++) {
		double share = 100.0 * (double)got->ns[p] / (double)sum;
		double truth = 100.0 * (double)a->ns[p] / (double)want;

		printf("  %s: %.2f %%, by the clock %.2f %%\n", PLACE_NAME[p], share,
		       truth);
		CHECK(share > truth - points && share < truth + points);
	}
	CHECK_INT(got->deep, got->ns[2]);
	CHECK(sum <= want / 100 * (100 + percent));
	CHECK(sum * 100 >= want * (100 - percent));
	/* of time off the CPUs another thread may be the waker, as one that wakes it once more */
	CHECK(sum * 100 <= got->off_ns * (100 + percent));
	if (!slow)
		CHECK(sum * 100 >= got->off_ns * (100 - WAITING));
}

static void measure(uint64_t flags, char go, struct got *ret, struct answer *ret_a)
{
	struct got got = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct kind_child c = kind_child_start(serve);
	struct otelprof_config config;
	struct otelprof *p;
	struct answer a;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_OFF_CPU | OTELPROF_KIND_WAKERS;
	config.flags = OTELPROF_WAKERS | flags;
	p = kind_start(&config, c.pid, &profile);
	kind_child_ask(p, &c, &go, 1, &a, sizeof(a)); /* its tables are made */
	got = (struct got){ .a = a };
	kind_child_ask(p, &c, &go, 1, &a, sizeof(a));
	kind_close(p);
	kind_child_end(&c);
	*ret = got;
	*ret_a = a;
}

static void measure_places(uint64_t flags)
{
	struct answer a;
	struct got got;

	measure(flags, 'p', &got, &a);
	check(&got, &a);
}

static void test_shares(void)
{
	measure_places(0);
}

/* What a timer wakes is not told as the doing of who runs. */
static void test_interrupts(void)
{
	struct answer a;
	struct got got;

	measure(0, 'i', &got, &a);
	printf("  %lld ns slept, %lld of them woken by threads that only run\n",
	       (long long)got.slept, (long long)got.by_others);
	CHECK(got.slept >= (int64_t)SLEEPS * 2 * MS);
	CHECK(got.by_others * 100 < got.slept);
}

/* The programs of older kernels. */
static void test_forms(void)
{
	measure_places(OTELPROF_NO_BPF_LOOP);
	measure_places(OTELPROF_NO_TAIL_CALLS);
}

static void test_nothing_is_loaded_while_off(void)
{
	kind_check_loaded(OTELPROF_KIND_WAKERS, "op_wakers", "op_wakers_left");
}

TEST_MAIN({ "shares", test_shares }, { "forms", test_forms },
	  { "interrupts", test_interrupts }, { "off", test_nothing_is_loaded_while_off })
