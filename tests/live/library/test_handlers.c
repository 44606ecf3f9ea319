/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof_wakeup() in a signal handler, at any instruction of the library; and what other threads
 * may call while one works. */
#include <errno.h>
#include <otelprof/otelprof.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "child.h"
#include "kind.h"
#include "test.h"

enum {
	RATE_HZ = 199,
	ROUNDS = 300,
	LONG_MS = 600000, /* longer than a test may take */
	PAUSE_NS = 300000,
	ALARM_S = 60, /* a handler that waits for a lock of its own thread never ends */
};

static struct otelprof *handle; /* for the handler */
static volatile sig_atomic_t calls;
static volatile sig_atomic_t failed;

static void on_signal(int number)
{
	int before = errno;

	if (otelprof_wakeup(handle) < 0 || errno != before)
		failed = 1;
	calls = calls + 1;
}

static int take(void *userdata, const void *request, size_t len, uint64_t samples)
{
	return 0;
}

static struct otelprof *make(void)
{
	struct otelprof_callback_config callback;
	struct otelprof_config config;
	struct otelprof *p;

	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = RATE_HZ;
	p = kind_new(&config);
	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = take;
	CHECK_OK(otelprof_exporter_callback(p, &callback));
	CHECK_OK(otelprof_start(p));
	return p;
}

struct sender {
	pthread_t to;
	bool end;
};

static void *send_signals(void *arg)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct sender *s = arg;

	while (!__atomic_load_n(&s->end, __ATOMIC_ACQUIRE)) {
		CHECK_INT(pthread_kill(s->to, SIGUSR1), 0);
		(void)nanosleep(&pause, NULL);
	}
	return NULL;
}

/* The thread that works is the one that gets the signals, inside of calls that hold locks. */
static void test_wakeup_in_a_handler(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct sender s = { .to = pthread_self() };
	struct otelprof_stats stats;
	pthread_t thread;
	int i;
	int r;

	handle = make();
	CHECK_OK(sigaction(SIGUSR1, &action, NULL));
	(void)alarm(ALARM_S);
	CHECK_INT(pthread_create(&thread, NULL, send_signals, &s), 0);
	for (i = 0; i < ROUNDS; i++) {
		r = otelprof_poll(handle, 5);
		CHECK(r >= 0 || r == -EINTR);
		otelprof_stats_init(&stats, sizeof(stats));
		CHECK_OK(otelprof_get_stats(handle, &stats));
		if (i % 50 == 0)
			CHECK_OK(otelprof_export(handle));
	}
	__atomic_store_n(&s.end, true, __ATOMIC_RELEASE);
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK(!failed);
	CHECK(calls >= ROUNDS / 10);
	otelprof_free(handle);
	(void)alarm(0);
}

static void *raise_later(void *arg)
{
	(void)poll(NULL, 0, 300);
	CHECK_INT(pthread_kill(*(pthread_t *)arg, SIGUSR1), 0);
	return NULL;
}

/* A wait without limit ends by one signal, though its handler came before the wait or in it. */
static void test_a_handler_ends_a_wait(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t self = pthread_self();
	pthread_t thread;
	int r;

	handle = make();
	CHECK_OK(otelprof_stop(handle)); /* nothing to do from here on */
	CHECK_OK(sigaction(SIGUSR1, &action, NULL));
	while (otelprof_poll(handle, 0) > 0)
		;
	calls = 0;
	CHECK_INT(pthread_create(&thread, NULL, raise_later, &self), 0);
	do {
		r = otelprof_poll(handle, LONG_MS);
		CHECK(r >= 0 || r == -EINTR);
	} while (!calls);
	CHECK_INT(pthread_join(thread, NULL), 0);
	otelprof_free(handle);
}

static void on_row(void *userdata, const struct otelprof_doctor_row *row)
{
	CHECK(*row->feature);
	*(unsigned int *)userdata += 1;
}

struct doctors {
	bool end;
	unsigned int rows[2];
	int missing[2];
};

static void *examine(void *arg)
{
	struct doctors *d = arg;

	d->missing[1] = otelprof_doctor(NULL, on_row, &d->rows[1]);
	__atomic_store_n(&d->end, true, __ATOMIC_RELEASE);
	return NULL;
}

/* The doctor needs no handle, and holds up none. */
static void test_doctor_from_another_thread(void)
{
	struct otelprof_exporter_stats stats;
	struct doctors d = { 0 };
	pthread_t thread;

	handle = make();
	CHECK_INT(pthread_create(&thread, NULL, examine, &d), 0);
	while (!__atomic_load_n(&d.end, __ATOMIC_ACQUIRE)) {
		CHECK_OK(otelprof_poll(handle, 5));
		otelprof_exporter_stats_init(&stats, sizeof(stats));
		CHECK_OK(otelprof_get_exporter_stats(handle, 1, &stats));
	}
	CHECK_INT(pthread_join(thread, NULL), 0);
	d.missing[0] = otelprof_doctor(NULL, on_row, &d.rows[0]);
	CHECK(d.rows[0] > 5);
	CHECK_INT(d.rows[1], d.rows[0]);
	CHECK_INT(d.missing[1], d.missing[0]);
	otelprof_free(handle);
}

TEST_MAIN({ "wakeup_in_a_handler", test_wakeup_in_a_handler },
	  { "a_handler_ends_a_wait", test_a_handler_ends_a_wait },
	  { "doctor_from_another_thread", test_doctor_from_another_thread })
