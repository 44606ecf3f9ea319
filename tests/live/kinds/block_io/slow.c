/* SPDX-License-Identifier: Apache-2.0 */
#include "slow.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	ROOT = FUSE_ROOT_ID,
	FILE_NODE = 2,
	REQUEST_BYTES = 1 << 17,
	READ_BYTES_MAX = 1 << 17,
	VALID_SECONDS = 3600,
};

struct slow {
	int fd; /* /dev/fuse */
	uint8_t *data;
	size_t bytes;
	int64_t pause_ns;
};

static struct fuse_attr attributes_of(const struct slow *s, uint64_t node)
{
	struct fuse_attr a = { .ino = node, .nlink = 1, .blksize = 4096 };

	a.mode = node == ROOT ? S_IFDIR | 0700 : S_IFREG | 0600;
	a.size = node == ROOT ? 0 : s->bytes;
	a.blocks = a.size / 512;
	return a;
}

static void answer(const struct slow *s, const struct fuse_in_header *in, int error,
		   const void *bytes, size_t len)
{
	static uint8_t out[sizeof(struct fuse_out_header) + READ_BYTES_MAX];
	struct fuse_out_header h = { .unique = in->unique, .error = -error };

	h.len = (uint32_t)(sizeof(h) + len);
	memcpy(out, &h, sizeof(h));
	if (len)
		memcpy(out + sizeof(h), bytes, len);
	(void)!write(s->fd, out, h.len);
}

static void pause_of(const struct slow *s)
{
	struct timespec pause = { .tv_nsec = s->pause_ns };

	(void)nanosleep(&pause, NULL);
}

/* As many of @bytes at @offset as there are, and at most @most. */
static size_t bytes_at(const struct slow *s, uint64_t offset, size_t bytes, size_t most)
{
	size_t n = bytes < most ? bytes : most;

	if (offset >= s->bytes)
		return 0;
	return n < s->bytes - offset ? n : (size_t)(s->bytes - offset);
}

static void answer_read(const struct slow *s, const struct fuse_in_header *in,
			const void *body)
{
	struct fuse_read_in r;
	size_t n;

	memcpy(&r, body, sizeof(r));
	n = bytes_at(s, r.offset, r.size, READ_BYTES_MAX);
	pause_of(s);
	answer(s, in, 0, n ? s->data + r.offset : NULL, n);
}

static void answer_write(const struct slow *s, const struct fuse_in_header *in,
			 const uint8_t *body)
{
	struct fuse_write_out out = { 0 };
	struct fuse_write_in w;

	memcpy(&w, body, sizeof(w));
	out.size = (uint32_t)bytes_at(s, w.offset, w.size,
				      REQUEST_BYTES - sizeof(*in) - sizeof(w));
	if (out.size)
		memcpy(s->data + w.offset, body + sizeof(w), out.size);
	answer(s, in, 0, &out, sizeof(out));
}

static void serve_one(const struct slow *s, const struct fuse_in_header *in,
		      const void *body)
{
	/* without reading ahead: a page is one request */
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
				      .minor = 31,
				      .max_write = 4096 };
	struct fuse_entry_out entry = { .nodeid = FILE_NODE,
					.entry_valid = VALID_SECONDS,
					.attr_valid = VALID_SECONDS,
					.attr = attributes_of(s, FILE_NODE) };
	struct fuse_attr_out attributes = { .attr_valid = VALID_SECONDS,
					    .attr = attributes_of(s, in->nodeid) };
	struct fuse_open_out opened = { 0 };

	switch (in->opcode) {
	case FUSE_INIT:
		answer(s, in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		answer(s, in, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		answer(s, in, 0, &attributes, sizeof(attributes));
		break;
	case FUSE_OPEN:
		answer(s, in, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		answer_read(s, in, body);
		break;
	case FUSE_WRITE:
		answer_write(s, in, body);
		break;
	case FUSE_FSYNC:
		pause_of(s);
		answer(s, in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		break; /* not answered */
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		answer(s, in, 0, NULL, 0);
		break;
	default:
		answer(s, in, ENOSYS, NULL, 0);
	}
}

static void serve(const struct slow *s)
{
	static _Alignas(8) uint8_t request[REQUEST_BYTES];
	struct fuse_in_header in;
	ssize_t n;

	for (;;) {
		n = read(s->fd, request, sizeof(request));
		if (n < 0 && (errno == EINTR || errno == ENOENT))
			continue;
		if (n < (ssize_t)sizeof(in))
			_exit(0); /* it is not mounted any more */
		memcpy(&in, request, sizeof(in));
		serve_one(s, &in, request + sizeof(in));
	}
}

int slow_open(size_t bytes, int64_t pause_ns)
{
	struct slow s = { .data = calloc(1, bytes),
			  .bytes = bytes,
			  .pause_ns = pause_ns };
	char folder[] = "/tmp/slow-XXXXXX";
	char text[128];
	int fd = -1;
	pid_t pid;

	s.fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (!s.data || s.fd < 0 || !mkdtemp(folder)) {
		fd = -errno;
		free(s.data);
		return fd;
	}
	(void)snprintf(text, sizeof(text), "fd=%d,rootmode=40000,user_id=0,group_id=0",
		       s.fd);
	if (mount("slow", folder, "fuse.slow", MS_NOSUID | MS_NODEV, text) == 0) {
		pid = fork();
		if (pid == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			serve(&s);
		}
		(void)snprintf(text, sizeof(text), "%s/file", folder);
		fd = open(text, O_RDWR | O_CLOEXEC);
		/* its name goes; what is open stays */
		(void)umount2(folder, MNT_DETACH);
	}
	fd = fd < 0 ? -errno : fd;
	(void)rmdir(folder);
	(void)close(s.fd);
	free(s.data); /* the other process has its own */
	return fd;
}
