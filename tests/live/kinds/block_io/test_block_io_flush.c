/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes with a flush of the device after or before them, which the kernel makes of its own
 * where a device with a cache has no such write: their time is that of all their parts, and the
 * flush is the device at work. The device is a loop device on a file whose fsync(2) is slow.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include <otelprof/otelprof.h>

#include "kind_profile.h"
#include "loop.h"
#include "slow.h"
#include "test.h"

enum {
	DEVICE_BYTES = 24 << 20,
	PAGE_BYTES = 4096,
	WRITES = 40,
	FLUSH_NS = 3000000,
	PERCENT = 10, /* of the time, at most: in the queue */
	LOST_MAX =
		2, /* a request that ends in an interrupt amid the program of another */
};

static struct loop device;
static char folder[] = "/tmp/flush-XXXXXX";

/* ---- the child ---- */

/* A write that is to be on the disk at its end (FUA): write, then flush. */
static PLACE int64_t writes_through(int fd, const void *page)
{
	int64_t error = 0;
	int i;

	for (i = 0; i < WRITES; i++)
		error |=
			pwrite(fd, page, PAGE_BYTES, (off_t)i * PAGE_BYTES) != PAGE_BYTES;
	STAYS("through");
	return error;
}

/* The end of a commit to ext4's journal (PREFLUSH and FUA): flush, write, flush. With
 * fast_commit the thread that syncs writes it. */
static PLACE int64_t commits(int fd, const void *page)
{
	int64_t error = 0;
	int i;

	for (i = 0; i < WRITES; i++) {
		error |=
			pwrite(fd, page, PAGE_BYTES, (off_t)i * PAGE_BYTES) != PAGE_BYTES;
		error |= fsync(fd);
	}
	STAYS("commits");
	return error;
}

static void serve(int from, int to)
{
	void *page = aligned_alloc(PAGE_BYTES, PAGE_BYTES);
	int64_t error;
	char path[64];
	char go;
	int fd;

	memset(page, 1, PAGE_BYTES);
	while (read(from, &go, 1) == 1) {
		(void)snprintf(path, sizeof(path), "%s/file", folder);
		fd = go == 'w'
			     ? open(device.path, O_RDWR | O_DIRECT | O_DSYNC | O_CLOEXEC)
			     : open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		error = go == 'w' ? writes_through(fd, page) : commits(fd, page);
		(void)close(fd);
		(void)!write(to, &error, sizeof(error));
	}
}

/* ---- the profile ---- */

struct got {
	int64_t queue_ns;
	int64_t service_ns;
	int64_t count;
	int64_t lost;
	const char *place;
};

/* Of the tails of commits, which end in a function of ext4's; all else is other writes. */
static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct got *got = profile->data;

	if (kind_frame(s, got->place) < 0 ||
	    !kind_says(profile, s, "disk.io.direction", "write"))
		return;
	if (!strcmp(got->place, "commits") && kind_frame(s, "ext4_fc_commit") < 0)
		return;
	if (kind_is(s, "block_io_queue", "nanoseconds"))
		got->queue_ns += s->value;
	else if (kind_is(s, "block_io_service", "nanoseconds"))
		got->service_ns += s->value;
	else if (kind_is(s, "block_io", "count"))
		got->count += s->value;
}

static struct got measure(char go, const char *place)
{
	struct got got = { .place = place };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct kind_child c = kind_child_start(serve);
	struct otelprof_config config;
	struct otelprof *p;
	int64_t error;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_BLOCK_IO;
	p = kind_start(&config, c.pid, &profile);
	kind_child_ask(p, &c, &go, 1, &error, sizeof(error)); /* its tables are made */
	got = (struct got){ .place = place };
	kind_child_ask(p, &c, &go, 1, &error, sizeof(error));
	got.lost = (int64_t)kind_close(p);
	kind_child_end(&c);
	CHECK_INT(error, 0);
	CHECK(got.lost <= LOST_MAX);
	printf("  %s: %lld writes, %lld ns in the queue, %lld in the device\n", place,
	       (long long)got.count, (long long)got.queue_ns, (long long)got.service_ns);
	return got;
}

static int open_device(void)
{
	int file = slow_open(DEVICE_BYTES, FLUSH_NS);

	if (file < 0)
		SKIP("no FUSE here: %s", strerror(-file));
	if (loop_open_file(&device, file) < 0)
		SKIP("no loop device here");
	return file;
}

static void test_after(void)
{
	int file = open_device();
	struct got got = measure('w', "writes_through");

	CHECK(got.count <= WRITES && got.count + got.lost >= WRITES);
	CHECK(got.service_ns >= got.count * FLUSH_NS);
	CHECK(got.queue_ns * 100 <= got.service_ns * PERCENT);
	loop_close(&device);
	(void)close(file);
}

static void test_before_and_after(void)
{
	int file = open_device();
	char command[256];
	struct got got;

	(void)snprintf(command, sizeof(command),
		       "mkfs.ext4 -q -O fast_commit -J size=4 %s >/dev/null 2>&1",
		       device.path);
	if (system(command)) /* NOLINT(cert-env33-c) */
		SKIP("no mkfs.ext4 that knows fast_commit");
	CHECK_OK(unshare(CLONE_NEWNS));
	CHECK_OK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CHECK(mkdtemp(folder));
	if (mount(device.path, folder, "ext4", 0, NULL))
		SKIP("no ext4 here: %s", strerror(errno));
	got = measure('j', "commits");
	CHECK_OK(umount(folder));
	(void)rmdir(folder);
	loop_close(&device);
	(void)close(file);
	if (!got.count)
		SKIP("the syncing thread writes no end of a commit here");
	CHECK(got.count >= WRITES / 2);
	CHECK(got.service_ns >= got.count * FLUSH_NS);
	CHECK(got.queue_ns * 100 <= got.service_ns * PERCENT);
}

TEST_MAIN({ "after", test_after }, { "before_and_after", test_before_and_after })
