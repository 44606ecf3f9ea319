/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of system calls that retry after signals and return -errno. */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/cleanup.h"
#include "base/macros.h"

enum {
	CLOCK_READINGS = 5,
	READ_FIRST_BYTES = 4096,
	SCHEDSTAT_BYTES = 64, /* three numbers */
	OFFSETS_BYTES = 4096,
};

int op_fd_move_up(int fd)
{
	_cleanup_close_ int low = fd;
	int moved;

	if (fd < 0 || fd > 2)
		return OP_TAKE_FD(low);
	moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return moved < 0 ? -errno : moved;
}

int op_openat(int dir, const char *path, int flags)
{
	int fd = openat(dir, path, flags | O_CLOEXEC, 0644);

	return fd < 0 ? -errno : op_fd_move_up(fd);
}

int op_open(const char *path, int flags)
{
	return op_openat(AT_FDCWD, path, flags);
}

/* Read until the end: from @off on, or from the present position if @off is negative. */
static ssize_t read_full(int fd, void *buf, size_t len, int64_t off)
{
	size_t done = 0;

	while (done < len) {
		char *to = (char *)buf + done;
		ssize_t n = off < 0 ? read(fd, to, len - done)
				    : pread(fd, to, len - done, off + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

ssize_t op_pread_full(int fd, void *buf, size_t len, uint64_t off)
{
	return off > INT64_MAX ? -EINVAL : read_full(fd, buf, len, (int64_t)off);
}

ssize_t op_read_fd(int fd, size_t limit, char **ret)
{
	_cleanup_free_ char *buf = NULL;
	size_t cap = 0;
	size_t len = 0;

	for (;;) {
		size_t want = cap ? cap * 2 : READ_FIRST_BYTES;
		ssize_t n;
		char *p;

		if (cap > limit)
			return -EFBIG;
		p = realloc(buf, want + 1);
		if (!p)
			return -ENOMEM;
		buf = p;
		cap = want;
		n = op_pread_full(fd, buf + len, cap - len, len);
		if (n == -ESPIPE) /* a pipe, such as a shell's <(command) */
			n = read_full(fd, buf + len, cap - len, -1);
		if (n < 0)
			return n;
		len += (size_t)n;
		if (len < cap)
			break;
	}
	if (len > limit)
		return -EFBIG;
	buf[len] = 0;
	*ret = OP_TAKE_PTR(buf);
	return (ssize_t)len;
}

ssize_t op_read_file(const char *path, size_t limit, char **ret)
{
	_cleanup_close_ int fd = -1;

	fd = op_open(path, O_RDONLY);
	if (fd < 0)
		return fd;
	return op_read_fd(fd, limit, ret);
}

int op_write_full(int fd, const void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(fd, (const char *)buf + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

const char *op_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void op_maker_begin(struct op_maker *m)
{
	size_t len = (size_t)sysconf(_SC_PAGESIZE);
	void *mark = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	*m = (struct op_maker){ .pid = getpid() };
	if (mark == MAP_FAILED)
		return;
	if (madvise(mark, len, MADV_WIPEONFORK) < 0) {
		(void)munmap(mark, len);
		return;
	}
	m->mark = mark;
	*m->mark = 1;
}

void op_maker_end(struct op_maker *m)
{
	if (m->mark)
		(void)munmap(m->mark, (size_t)sysconf(_SC_PAGESIZE));
	*m = (struct op_maker){ 0 };
}

bool op_maker_is_here(const struct op_maker *m)
{
	return m->pid == getpid() && (!m->mark || *m->mark);
}

/* Shorter waits for a CPU are ignored. */
static const uint64_t WAIT_MIN_NS = 1000000;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

uint64_t op_clock_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t op_clock_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

uint64_t op_clock_boottime_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

uint64_t op_clock_thread_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* How long this thread has waited for a CPU in all, or 0 if the kernel does not count
 * it. */
static uint64_t waited_ns(void)
{
	char text[SCHEDSTAT_BYTES] = "";
	_cleanup_close_ int fd =
		open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	char *at = text;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return 0;
	(void)strtoull(at, &at, 10); /* time on a CPU */
	return strtoull(at, NULL, 10);
}

void op_work_clock_begin(struct op_work_clock *c)
{
	if (!c->waited_ns)
		c->waited_ns = waited_ns();
	c->read_ns = c->checked_ns = op_clock_monotonic_ns();
	c->cpu_ns = op_clock_thread_ns();
}

/* Subtract the thread's waits for a CPU since the last reading. The kernel's number has
 * earlier waits too, so the waits cannot exceed the elapsed time without CPU time. */
static void look_for_waits(struct op_work_clock *c, uint64_t now_ns)
{
	uint64_t cpu_ns = op_clock_thread_ns();
	uint64_t idle_ns = now_ns - c->checked_ns;
	uint64_t waited;

	idle_ns -= OP_MIN(idle_ns, cpu_ns - c->cpu_ns);
	c->checked_ns = now_ns;
	c->cpu_ns = cpu_ns;
	if (idle_ns < WAIT_MIN_NS)
		return;
	waited = OP_MAX(waited_ns(), c->waited_ns);
	c->lost_ns += OP_MIN(waited - c->waited_ns, idle_ns);
	c->waited_ns = waited;
}

uint64_t op_clock_work_ns(struct op_work_clock *c)
{
	uint64_t now_ns = op_clock_monotonic_ns();

	if (!c->read_ns)
		op_work_clock_begin(c);
	else if (now_ns - c->read_ns >= WAIT_MIN_NS)
		look_for_waits(c, now_ns);
	c->read_ns = now_ns;
	c->told_ns = OP_MAX(c->told_ns, now_ns - c->lost_ns);
	return c->told_ns;
}

int64_t op_clock_monotonic_offset_ns(void)
{
	uint64_t best_gap = UINT64_MAX;
	int64_t best = 0;
	int i;

	for (i = 0; i < CLOCK_READINGS; i++) {
		uint64_t before = op_clock_monotonic_ns();
		uint64_t wall = op_clock_realtime_ns();
		uint64_t after = op_clock_monotonic_ns();

		if (after - before >= best_gap)
			continue;
		best_gap = after - before;
		best = (int64_t)(wall - (before + best_gap / 2));
	}
	return best;
}

/* The offset that the line of clock @name tells: seconds that may be negative, and
 * nanoseconds to add. */
static int64_t clock_ahead(const char *text, const char *name)
{
	const char *line = strstr(text, name);
	int64_t seconds, ns;

	if (!line ||
	    sscanf(line + strlen(name), "%" SCNd64 " %" SCNd64, &seconds, &ns) != 2 ||
	    op_mul_overflow(seconds, OP_NS_PER_S, &seconds) ||
	    op_add_overflow(seconds, ns, &ns))
		return 0;
	return ns;
}

struct op_clock_offsets op_clock_parse_offsets(const char *text)
{
	return (struct op_clock_offsets){
		.monotonic_ns = clock_ahead(text, "monotonic"),
		.boottime_ns = clock_ahead(text, "boottime"),
	};
}

struct op_clock_offsets op_clock_offsets(void)
{
	_cleanup_free_ char *text = NULL;

	if (op_read_file("/proc/self/timens_offsets", OFFSETS_BYTES, &text) <= 0)
		return (struct op_clock_offsets){ 0 };
	return op_clock_parse_offsets(text);
}
