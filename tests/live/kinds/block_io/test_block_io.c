/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block I/O end to end. A child reads and writes a loop device past the page cache, a known
 * number of bytes in known places, and flushes it: the profile must say how many requests
 * and bytes exactly, of which device and direction, and no longer than the child waited; the
 * times in the queue and in the device are all of the time. How deep the stack is makes no
 * difference to the time in the queue.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <otelprof/otelprof.h>

#include "kind_profile.h"
#include "loop.h"
#include "test.h"

enum {
	LOST_MAX = 2, /* interrupted programs, in a hundred milliseconds of requests */
	DEVICE_BYTES = 16 << 20,
	ALIGNED = 4096,
	READ_BYTES = 65536,
	READS = 120,
	WRITE_BYTES = 4096,
	WRITES = 310,
	FLUSHES = 7,
	PLACES = 3,
	DEEP = 400,	/* calls */
	PAIRS = 100,	/* of a shallow read and a deep one */
	ROUNDS = 7,	/* of them; the one that lost its CPU least counts */
	WALK_NS = 5000, /* the walk of DEEP calls takes 13,000 */
};

static struct loop device;

/* ---- the child ---- */

struct answer {
	int64_t ns[PLACES];
	int64_t error;
};

static PLACE int64_t reads_of_64k(int fd, void *buffer)
{
	int64_t error = 0;
	int i;

	for (i = 0; i < READS; i++)
		error |= pread(fd, buffer, READ_BYTES, (off_t)i * READ_BYTES) !=
			 READ_BYTES;
	STAYS("reads");
	return error;
}

static PLACE int64_t writes_of_4k(int fd, const void *buffer)
{
	int64_t error = 0;
	int i;

	for (i = 0; i < WRITES; i++)
		error |= pwrite(fd, buffer, WRITE_BYTES, (off_t)i * WRITE_BYTES) !=
			 WRITE_BYTES;
	STAYS("writes");
	return error;
}

static PLACE int64_t flushes(int fd)
{
	int64_t error = 0;
	int i;

	for (i = 0; i < FLUSHES; i++)
		error |= fdatasync(fd);
	STAYS("flushes");
	return error;
}

static PLACE int64_t reads_shallow(int fd, void *buffer)
{
	int64_t error = pread(fd, buffer, ALIGNED, 0) != ALIGNED;

	STAYS("shallow");
	return error;
}

static PLACE int64_t reads_deep(int fd, void *buffer, int depth)
{
	int64_t error;

	if (depth)
		error = reads_deep(fd, buffer, depth - 1);
	else
		error = pread(fd, buffer, ALIGNED, 0) != ALIGNED;
	STAYS("deep");
	return error;
}

static void work_in_pairs(int fd, void *buffer, struct answer *a)
{
	int i;

	a->error = 0;
	for (i = 0; i < PAIRS; i++) {
		a->error |= reads_shallow(fd, buffer);
		a->error |= reads_deep(fd, buffer, DEEP);
	}
}

static void work(int fd, void *buffer, struct answer *a)
{
	int64_t begin = kind_clock_ns(CLOCK_MONOTONIC);

	a->error = reads_of_64k(fd, buffer);
	a->ns[0] = kind_clock_ns(CLOCK_MONOTONIC) - begin;
	begin = kind_clock_ns(CLOCK_MONOTONIC);
	a->error |= writes_of_4k(fd, buffer);
	a->ns[1] = kind_clock_ns(CLOCK_MONOTONIC) - begin;
	begin = kind_clock_ns(CLOCK_MONOTONIC);
	a->error |= flushes(fd);
	a->ns[2] = kind_clock_ns(CLOCK_MONOTONIC) - begin;
}

static void serve(int from, int to)
{
	int fd = open(device.path, O_RDWR | O_DIRECT | O_CLOEXEC);
	void *buffer = aligned_alloc(ALIGNED, READ_BYTES);
	struct answer a;
	char go;

	if (fd < 0 || !buffer)
		_exit(1);
	memset(buffer, 1, READ_BYTES);
	while (read(from, &go, 1) == 1) {
		if (go == 'p')
			work_in_pairs(fd, buffer, &a);
		else
			work(fd, buffer, &a);
		(void)!write(to, &a, sizeof(a));
	}
}

/* ---- the profile ---- */

struct got {
	int64_t ns[PLACES];
	int64_t queue_ns[PLACES];
	int64_t service_ns[PLACES];
	int64_t bytes[PLACES];
	int64_t count[PLACES];
	int64_t others; /* samples of the wrong device, direction or type */
	bool printed;
};

static const char *const PLACE_NAME[PLACES] = { "reads_of_64k", "writes_of_4k",
						"flushes" };
static const char *const DIRECTION[PLACES] = { "read", "write", "flush" };

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct got *got = profile->data;
	int p;

	for (p = 0; p < PLACES; p++)
		if (kind_frame(s, PLACE_NAME[p]) >= 0)
			break;
	if (p == PLACES)
		return;
	if (!got->printed)
		kind_print(s);
	got->printed = true;
	if (!kind_says(profile, s, "disk.io.direction", DIRECTION[p]) ||
	    !kind_says(profile, s, "system.device", device.name)) {
		kind_print(s);
		got->others++;
	} else if (kind_is(s, "block_io", "nanoseconds")) {
		got->ns[p] += s->value;
	} else if (kind_is(s, "block_io_queue", "nanoseconds")) {
		got->queue_ns[p] += s->value;
	} else if (kind_is(s, "block_io_service", "nanoseconds")) {
		got->service_ns[p] += s->value;
	} else if (kind_is(s, "block_io", "bytes")) {
		got->bytes[p] += s->value;
	} else if (kind_is(s, "block_io", "count")) {
		got->count[p] += s->value;
	} else {
		got->others++;
	}
}

static void test_known_bytes(void)
{
	static const int64_t want_count[PLACES] = { READS, WRITES, FLUSHES };
	static const int64_t bytes_each[PLACES] = { READ_BYTES, WRITE_BYTES, 0 };
	struct got got = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof_config config;
	struct kind_child c;
	struct otelprof *p;
	struct answer a;
	int64_t missing = 0;
	int64_t lost;
	int i;

	if (loop_open(&device, DEVICE_BYTES) < 0)
		SKIP("no loop device here");
	c = kind_child_start(serve);
	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_BLOCK_IO;
	p = kind_start(&config, c.pid, &profile);
	/* what is met for the first time: its tables are made */
	kind_child_ask(p, &c, "g", 1, &a, sizeof(a));
	kind_child_ask(p, &c, "g", 1, &a, sizeof(a));
	memset(&got, 0, sizeof(got));
	kind_child_ask(p, &c, "g", 1, &a, sizeof(a));
	/* a request that ends in an interrupt amid the program of another one */
	lost = (int64_t)kind_close(p);
	CHECK(lost <= LOST_MAX);
	kind_child_end(&c);
	loop_close(&device);
	CHECK_INT(a.error, 0);
	for (i = 0; i < PLACES; i++)
		printf("  %s: %lld requests, %lld bytes, %lld ns of %lld, %lld in the queue\n",
		       PLACE_NAME[i], (long long)got.count[i], (long long)got.bytes[i],
		       (long long)got.ns[i], (long long)a.ns[i],
		       (long long)got.queue_ns[i]);
	CHECK_INT(got.others, 0);
	for (i = 0; i < PLACES; i++) {
		missing += want_count[i] - got.count[i];
		CHECK(got.count[i] <= want_count[i]);
		CHECK_INT(got.bytes[i], got.count[i] * bytes_each[i]);
		CHECK(got.ns[i] > a.ns[i] / 20 && got.ns[i] <= a.ns[i]);
		CHECK_INT(got.queue_ns[i] + got.service_ns[i], got.ns[i]);
		CHECK(got.service_ns[i] > 0);
	}
	CHECK(missing <= lost);
}

/* Of shallow reads, and of deep ones. */
struct pairs {
	int64_t queue_ns[2];
};

static void add_of_pair(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct pairs *pairs = profile->data;
	bool deep = kind_frame(s, "reads_deep") >= 0;

	if (kind_is(s, "block_io_queue", "nanoseconds") &&
	    (deep || kind_frame(s, "reads_shallow") >= 0))
		pairs->queue_ns[deep] += s->value;
}

static void test_walk_is_no_queue(void)
{
	struct pairs pairs = { 0 };
	struct kind_profile profile = { .fn = add_of_pair, .data = &pairs };
	struct otelprof_config config;
	struct kind_child c;
	struct otelprof *p;
	struct answer a;
	int64_t least[2] = { INT64_MAX, INT64_MAX };
	int round;
	int i;

	if (loop_open(&device, DEVICE_BYTES) < 0)
		SKIP("no loop device here");
	c = kind_child_start(serve);
	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_BLOCK_IO;
	config.max_frames = DEEP * 2;
	p = kind_start(&config, c.pid, &profile);
	for (round = 0; round < ROUNDS; round++) {
		memset(&pairs, 0, sizeof(pairs));
		kind_child_ask(p, &c, "p", 1, &a, sizeof(a));
		CHECK_INT(a.error, 0);
		/* in the first one its tables are made */
		for (i = 0; round && i < 2; i++)
			if (pairs.queue_ns[i] < least[i])
				least[i] = pairs.queue_ns[i];
	}
	CHECK(kind_close(p) <= LOST_MAX);
	kind_child_end(&c);
	loop_close(&device);
	printf("  %lld ns in the queue, of %d calls more %lld\n",
	       (long long)least[0] / PAIRS, DEEP, (long long)least[1] / PAIRS);
	CHECK(least[0] > 0);
	CHECK(least[1] - least[0] < (int64_t)WALK_NS * PAIRS);
}

/* That all programs are loaded and attached needs no device. */
static void test_starts(void)
{
	struct got got = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof_config config;
	struct otelprof *p;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_BLOCK_IO;
	p = kind_start(&config, getpid(), &profile);
	kind_drain(p);
	CHECK_INT(kind_programs("op_block_done"), 1);
	kind_close(p);
}

static void test_nothing_is_loaded_while_off(void)
{
	kind_check_loaded(OTELPROF_KIND_BLOCK_IO, "op_block_io", "op_block_done");
}

TEST_MAIN({ "bytes", test_known_bytes }, { "walk", test_walk_is_no_queue },
	  { "starts", test_starts }, { "off", test_nothing_is_loaded_while_off })
