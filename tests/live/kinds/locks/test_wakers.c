/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who woke a thread: in a child, one thread waits for a pipe and for a semaphore, and another
 * one, whose number and name are known, wakes it. Samples of both waits must tell of it, and of
 * none where that is not asked for.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "kind_profile.h"
#include "test.h"

enum {
	WAITS = 300, /* of a millisecond, half of them for each */
	WAIT_NS = 1000000,
	PERCENT = 95, /* of the time; the thread may be preempted, too */
};

static const char WAKER[] = "test-waker";
static sem_t semaphore;
static int to_sleeper[2];

static void *wake(void *arg)
{
	struct timespec t = { .tv_nsec = WAIT_NS };
	int i;

	(void)prctl(PR_SET_NAME, WAKER);
	__atomic_store_n((int *)arg, gettid(), __ATOMIC_RELEASE);
	for (i = 0; i < WAITS; i++) {
		(void)nanosleep(&t, NULL);
		if (i & 1)
			(void)sem_post(&semaphore);
		else
			(void)!write(to_sleeper[1], "w", 1);
	}
	return NULL;
}

static PLACE void waits_for_pipe(void)
{
	char c;

	(void)!read(to_sleeper[0], &c, 1);
	STAYS("pipe");
}

static PLACE void waits_for_futex(void)
{
	(void)sem_wait(&semaphore);
	STAYS("futex");
}

static void serve(int from, int to)
{
	char go;

	CHECK_OK(sem_init(&semaphore, 0, 0));
	CHECK_OK(pipe2(to_sleeper, O_CLOEXEC));
	while (read(from, &go, 1) == 1) {
		pthread_t thread;
		int tid = 0;
		int i;

		CHECK_OK(pthread_create(&thread, NULL, wake, &tid));
		for (i = 0; i < WAITS; i++) {
			if (i & 1)
				waits_for_futex();
			else
				waits_for_pipe();
		}
		CHECK_OK(pthread_join(thread, NULL));
		(void)!write(to, &tid, sizeof(tid));
	}
}

/* ---- the profile ---- */

struct got {
	int64_t tid;   /* of the waker */
	int64_t ns;    /* waited in the two places */
	int64_t locks; /* of them: by the kind locks */
	int64_t right; /* of them: the sample tells of the waker */
	int64_t told;  /* of any */
	pid_t pid;
};

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	const struct otlp_attribute *tid = kind_attribute(profile, s, "waker.thread.id");
	const struct otlp_attribute *pid =
		kind_attribute(profile, s, "waker.process.pid");
	struct got *got = profile->data;

	if (kind_frame(s, "waits_for_pipe") < 0 && kind_frame(s, "waits_for_futex") < 0)
		return;
	if (!otlp_text_is(s->unit, "nanoseconds"))
		return;
	got->ns += s->value;
	got->locks += otlp_text_is(s->type, "delay") ? s->value : 0;
	got->told += tid ? s->value : 0;
	if (!tid || !pid || !kind_says(profile, s, "waker.thread.name", WAKER))
		return;
	if (!got->tid)
		got->tid = tid->integer;
	if (tid->integer == got->tid && pid->integer == got->pid)
		got->right += s->value;
}

static struct got measure(uint64_t flags)
{
	struct kind_child c = kind_child_start(serve);
	struct got got = { .pid = c.pid };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof_config config;
	struct otelprof *p;
	char go = 'g';
	int tid;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_OFF_CPU | OTELPROF_KIND_LOCKS;
	config.flags = flags;
	p = kind_start(&config, c.pid, &profile);
	CHECK_INT(kind_programs("op_locks_woken"), flags & OTELPROF_WAKERS ? 1 : 0);
	kind_child_ask(p, &c, &go, 1, &tid, sizeof(tid));
	got = (struct got){ .pid = c.pid };
	kind_child_ask(p, &c, &go, 1, &tid, sizeof(tid));
	kind_close(p);
	kind_child_end(&c);
	printf("  %lld ns, %lld of locks, %lld tell of a waker, %lld of the right one\n",
	       (long long)got.ns, (long long)got.locks, (long long)got.told,
	       (long long)got.right);
	CHECK(got.ns > 0 && got.locks > 0);
	if (got.tid)
		CHECK_INT(got.tid, tid);
	return got;
}

static void test_wakers(void)
{
	struct got got = measure(OTELPROF_WAKERS);

	CHECK(got.right * 100 >= got.ns * PERCENT);
}

static void test_not_asked_for(void)
{
	CHECK_INT(measure(0).told, 0);
}

/* The programs of older kernels. */
static void test_forms(void)
{
	struct got got = measure(OTELPROF_WAKERS | OTELPROF_NO_BPF_LOOP);

	CHECK(got.right * 100 >= got.ns * PERCENT);
	got = measure(OTELPROF_WAKERS | OTELPROF_NO_TAIL_CALLS);
	CHECK(got.right * 100 >= got.ns * PERCENT);
}

TEST_MAIN({ "wakers", test_wakers }, { "none", test_not_asked_for },
	  { "forms", test_forms })
