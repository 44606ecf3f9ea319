/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out of memory: a whole life of a handle (init, exporter, start, poll, export, stop, free)
 * is run over and over with the n-th allocation failing, until it succeeds without one.
 * Every run ends with 0 or a negative code, leaks nothing (under ASan), and a run that
 * got as far as sampling closes its accounts.
 */
#include <stdlib.h>
#include <time.h>

#include <otelprof/otelprof.h>

#include "fail_alloc.h"
#include "test.h"

enum {
	RATE_HZ = 499,
	POLL_MS = 30,
	/* each of the first; then ever fewer, as many of each distance */
	DENSE = 24,
	DENSE_FULL = 150,
	ALIKE = 4,
	ALIKE_FULL = 16,
	RUNS_MAX = 2000,
	POLLS_MAX = 100,
};

static int take(void *userdata, const void *request, size_t len, uint64_t samples)
{
	*(uint64_t *)userdata += samples;
	return 0;
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void check_closed(struct otelprof *p)
{
	struct otelprof_stats s;
	uint64_t dropped;
	int i;

	otelprof_stats_init(&s, sizeof(s));
	CHECK_OK(otelprof_get_stats(p, &s));
	/* what is still in the ring of a busy machine, and what there was no memory for */
	for (i = 0; i < POLLS_MAX && s.samples_pending; i++) {
		CHECK_OK(otelprof_poll(p, 1));
		CHECK_OK(otelprof_export(p));
		CHECK_OK(otelprof_get_stats(p, &s));
	}
	dropped = s.samples_dropped;
	CHECK_INT(s.samples_pending, 0);
	CHECK_INT(s.samples_taken, s.samples_exported + s.samples_filtered + dropped);
}

/* One life with allocation number @n failing. Returns what went wrong first, or 0. */
static int live(long n)
{
	struct otelprof_callback_config callback;
	struct otelprof_config config;
	struct otelprof *p = NULL;
	uint64_t got = 0;
	uint64_t until;
	int r;
	int started;

	failed = false;
	fail_after = n;
	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = RATE_HZ;
	r = otelprof_init(&config, NULL, &p);
	if (r < 0) {
		fail_after = -1;
		CHECK(!p);
		return r;
	}
	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = take;
	callback.userdata = &got;
	r = otelprof_exporter_callback(p, &callback);
	started = otelprof_start(p);
	until = now_ms() + POLL_MS;
	while (started == 0 && now_ms() < until)
		(void)otelprof_poll(p, 10);
	(void)otelprof_export(p);
	(void)otelprof_stop(p);
	(void)otelprof_export(p);
	fail_after = -1;
	if (started == 0)
		check_closed(p);
	otelprof_free(p);
	return r < 0 ? r : started;
}

static void test_every_allocation_may_fail(void)
{
	bool full = getenv("OTELPROF_TEST_FULL");
	int dense = full ? DENSE_FULL : DENSE;
	int alike = full ? ALIKE_FULL : ALIKE;
	long n = 0;
	long step = 1;
	int runs = 0;
	unsigned int seed = (unsigned int)time(NULL);
	int r = live(-1);

	if (r == -OTELPROF_E_CAPABILITY || r == -OTELPROF_E_NO_BTF)
		SKIP("no rights or no BTF here: %s", otelprof_strerror(r));
	CHECK_INT(r, 0);
	printf("seed %u\n", seed);
	srandom(seed);
	for (;;) {
		r = live(n);
		if (!failed)
			break; /* a life has no more than n allocations */
		if (r < 0 && r != -ENOMEM)
			TEST_FAIL("allocation %ld failed and the call said %d (%s)", n, r,
				  otelprof_strerror(r));
		if (++runs >= RUNS_MAX)
			break;
		if (n >= dense && runs % alike == 0)
			step *= 2;
		/* another one in each run of the test */
		n += step > 1 ? 1 + random() % (2 * step - 1) : 1;
	}
	printf("%d lives, up to allocation %ld\n", runs, n);
	CHECK(runs > 50);
}

TEST_MAIN({ "every_allocation_may_fail", test_every_allocation_may_fail })
