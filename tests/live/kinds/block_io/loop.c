/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	TRIES = 16, /* others take loop devices, too */
};

static int make_file(size_t bytes)
{
	char path[] = "block-io-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd < 0)
		return -errno;
	(void)unlink(path);
	if (posix_fallocate(fd, 0, (off_t)bytes)) {
		(void)close(fd);
		return -ENOSPC;
	}
	return fd;
}

/* Take a device that is free. -EAGAIN where somebody else was faster. */
static int take(struct loop *loop, int control, int file)
{
	int number = ioctl(control, LOOP_CTL_GET_FREE);
	struct loop_info64 info = { .lo_flags = LO_FLAGS_AUTOCLEAR };

	if (number < 0)
		return -errno;
	(void)snprintf(loop->name, sizeof(loop->name), "loop%d", number);
	(void)snprintf(loop->path, sizeof(loop->path), "/dev/loop%d", number);
	loop->fd = open(loop->path, O_RDWR | O_CLOEXEC);
	if (loop->fd < 0)
		return -errno;
	if (ioctl(loop->fd, LOOP_SET_FD, file) < 0 ||
	    ioctl(loop->fd, LOOP_SET_STATUS64, &info) < 0) {
		int error = errno;

		(void)close(loop->fd);
		return error == EBUSY ? -EAGAIN : -error;
	}
	return 0;
}

int loop_open_file(struct loop *loop, int file)
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int r = control < 0 ? -errno : -EAGAIN;
	int i;

	for (i = 0; i < TRIES && r == -EAGAIN; i++)
		r = take(loop, control, file);
	if (control >= 0)
		(void)close(control);
	return r;
}

int loop_open(struct loop *loop, size_t bytes)
{
	int file = make_file(bytes);
	int r = file < 0 ? file : loop_open_file(loop, file);

	if (file >= 0)
		(void)close(file);
	return r;
}

int loop_set_requests(const struct loop *loop, int requests)
{
	char path[64];
	char text[16] = { 0 };
	int before;
	int fd;
	int n;

	(void)snprintf(path, sizeof(path), "/sys/block/%s/queue/nr_requests", loop->name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	before = pread(fd, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : -EIO;
	n = snprintf(text, sizeof(text), "%d", requests);
	if (before > 0 && pwrite(fd, text, (size_t)n, 0) != n)
		before = -errno;
	(void)close(fd);
	return before;
}

void loop_close(struct loop *loop)
{
	(void)close(loop->fd);
}
