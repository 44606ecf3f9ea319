/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time in the queue and time in the device, of a device that is slow and has room for four
 * requests at a time: of 16 threads that read, four have a request in the device and 12 wait
 * for that. So three quarters of all the time is in the queue. Of 4 threads none waits.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <otelprof/otelprof.h>

#include "kind_profile.h"
#include "loop.h"
#include "slow.h"
#include "test.h"

enum {
	PAGE_BYTES = 4096,
	READS = 1200, /* of all threads of a run */
	LOST_MAX =
		24, /* of them, where the kernel leaves out a program; each is counted */
	RUNS = 3,
	DEVICE_BYTES = RUNS * READS * PAGE_BYTES,
	PAUSE_NS = 500000,
	IN_DEVICE = 4,
	THREADS_MAX = 16,
	POINTS = 3, /* of 100; at the end less and less threads wait: 0.5 */
};

static struct loop device;

/* ---- the child ---- */

static int next_read;
static int last_read;
static int64_t errors;

static PLACE void read_page(int fd, void *page, int which)
{
	if (pread(fd, page, PAGE_BYTES, (off_t)which * PAGE_BYTES) != PAGE_BYTES)
		__atomic_add_fetch(&errors, 1, __ATOMIC_RELAXED);
	STAYS("page");
}

/* Each page is read once: what was read is in memory, and not slow any more. */
static void *read_pages(void *unused)
{
	int fd = open(device.path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	void *page = aligned_alloc(PAGE_BYTES, PAGE_BYTES);
	int which;

	for (;;) {
		which = __atomic_fetch_add(&next_read, 1, __ATOMIC_RELAXED);
		if (which >= last_read)
			break;
		read_page(fd, page, which);
	}
	free(page);
	(void)close(fd);
	return NULL;
}

struct answer {
	int64_t ns;
	int64_t errors;
};

static void serve(int from, int to)
{
	pthread_t thread[THREADS_MAX];
	struct answer a = { 0 };
	uint8_t threads;
	int i;

	while (read(from, &threads, 1) == 1) {
		next_read = last_read;
		last_read += READS;
		errors = 0;
		a.ns = -kind_clock_ns(CLOCK_MONOTONIC);
		for (i = 0; i < threads; i++)
			CHECK_OK(pthread_create(&thread[i], NULL, read_pages, NULL));
		for (i = 0; i < threads; i++)
			CHECK_OK(pthread_join(thread[i], NULL));
		a.ns += kind_clock_ns(CLOCK_MONOTONIC);
		a.errors = errors;
		(void)!write(to, &a, sizeof(a));
	}
}

/* ---- the profile ---- */

struct got {
	int64_t ns;
	int64_t queue_ns;
	int64_t service_ns;
	int64_t count;
};

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct got *got = profile->data;

	if (kind_frame(s, "read_page") < 0)
		return;
	if (kind_is(s, "block_io", "nanoseconds"))
		got->ns += s->value;
	else if (kind_is(s, "block_io_queue", "nanoseconds"))
		got->queue_ns += s->value;
	else if (kind_is(s, "block_io_service", "nanoseconds"))
		got->service_ns += s->value;
	else if (kind_is(s, "block_io", "count"))
		got->count += s->value;
}

/* @threads read: the share of the time in the queue, of 100. */
static double measure(struct otelprof *p, const struct kind_child *c, struct got *got,
		      uint8_t threads)
{
	struct answer a;

	memset(got, 0, sizeof(*got));
	kind_child_ask(p, c, &threads, 1, &a, sizeof(a));
	CHECK_INT(a.errors, 0);
	printf("  %d threads: %lld requests, %lld ns = %lld in the queue + %lld in the "
	       "device; %lld ns by the clock\n",
	       threads, (long long)got->count, (long long)got->ns,
	       (long long)got->queue_ns, (long long)got->service_ns, (long long)a.ns);
	CHECK(got->count <= READS && got->count >= READS - LOST_MAX);
	CHECK_INT(got->queue_ns + got->service_ns, got->ns);
	/* The device is never idle, and all threads are in a read all the time. */
	CHECK(got->service_ns <= a.ns * IN_DEVICE);
	CHECK(got->ns <= a.ns * threads && got->ns >= a.ns * threads / 10 * 9);
	return 100.0 * (double)got->queue_ns / (double)got->ns;
}

static void test_shares(void)
{
	int file = slow_open(DEVICE_BYTES, PAUSE_NS);
	struct got got = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof_config config;
	struct kind_child c;
	struct otelprof *p;
	int64_t requests;
	double share;
	int before;

	if (file < 0)
		SKIP("no FUSE here: %s", strerror(-file));
	if (loop_open_file(&device, file) < 0)
		SKIP("no loop device here");
	before = loop_set_requests(&device, IN_DEVICE);
	if (before < 0)
		SKIP("the device's queue cannot be made short: %s", strerror(-before));
	c = kind_child_start(serve);
	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_BLOCK_IO;
	p = kind_start(&config, c.pid, &profile);
	(void)measure(p, &c, &got, THREADS_MAX); /* its tables are made */
	requests = got.count;
	share = measure(p, &c, &got, THREADS_MAX);
	requests += got.count;
	CHECK(share > 75 - POINTS && share < 75 + POINTS);
	share = measure(p, &c, &got, IN_DEVICE);
	requests += got.count;
	CHECK(share < POINTS);
	/* each has a sample, or is counted as lost */
	CHECK(requests <= RUNS * READS);
	CHECK((uint64_t)requests + kind_close(p) >= RUNS * READS);
	kind_child_end(&c);
	(void)loop_set_requests(&device, before);
	loop_close(&device);
	(void)close(file);
}

TEST_MAIN({ "shares", test_shares })
