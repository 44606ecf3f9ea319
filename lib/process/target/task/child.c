/* SPDX-License-Identifier: Apache-2.0 */
/* What runs in a task (task.h): it gives up what belongs to the process, and then makes
 * calls. */
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "process/target/task/region.h"
#include "process/target/task/syscalls.h"

#ifndef __NR_close_range
#define __NR_close_range 436
#endif

enum {
	MAPS_PIECE = 8192,
	/* the end of a longer line is its path, which is not needed */
	MAPS_LINE_MAX = 512,
	/* A short wait for the processor must not look like a stall; applied
	 * if allowed. */
	TASK_NICE = -10,
};

/* Send one byte, and the descriptor @fd if there is one. */
static OP_TASK_CODE long answer(int sock, int fd)
{
	union {
		struct cmsghdr header;
		uint8_t bytes[CMSG_SPACE(sizeof(int))];
	} control;
	uint8_t byte = 0;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		*(int *)(void *)CMSG_DATA(&control.header) = fd;
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	return op_syscall(SYS_sendmsg, sock, &msg, MSG_NOSIGNAL);
}

static OP_TASK_CODE uint64_t task_clock_ns(clockid_t clock)
{
	struct timespec ts = { 0 };

	(void)op_syscall(SYS_clock_gettime, clock, &ts);
	return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

/* A clock of the time that the task waits. CPU time is not counted: copying memory takes
 * long on a slow processor, which is not a stall. */
static OP_TASK_CODE uint64_t waited_ns(void)
{
	uint64_t worked = task_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	return task_clock_ns(CLOCK_MONOTONIC) - worked;
}

/* The numbers in a line of /proc/self/maps: START-END PERMISSIONS OFFSET DEVICE INODE
 * PATH. */
struct range {
	uint64_t start;
	uint64_t end;
	bool writable;
	bool shared;
	bool file;
};

static OP_TASK_CODE const char *parse_number(const char *p, unsigned int base,
					     uint64_t *ret)
{
	uint64_t n = 0;

	for (;; p++) {
		unsigned int digit;

		if (*p >= '0' && *p <= '9')
			digit = (unsigned int)(*p - '0');
		else if (base > 10 && *p >= 'a' && *p <= 'f')
			digit = (unsigned int)(*p - 'a') + 10;
		else
			break;
		n = n * base + digit;
	}
	*ret = n;
	return p;
}

static OP_TASK_CODE void parse_range(const char *p, struct range *ret)
{
	uint64_t inode = 0;
	int spaces = 0;

	p = parse_number(p, 16, &ret->start);
	p = parse_number(*p ? p + 1 : p, 16, &ret->end);
	ret->writable = p[0] && p[1] && p[2] == 'w';
	ret->shared = p[0] && p[1] && p[2] && p[3] && p[4] == 's';
	for (; *p && spaces < 4; p++)
		spaces += *p == ' ';
	(void)parse_number(p, 10, &inode);
	ret->file = inode != 0;
}

static OP_TASK_CODE bool holds(const struct range *m, uintptr_t p)
{
	return m->start <= p && p < m->end;
}

/* Does the task need the range: the shared mapping, code and constants, or the thread's
 * areas? */
static OP_TASK_CODE bool is_needed(const struct op_task_region *r, const struct range *m)
{
	uintptr_t base = (uintptr_t)r->base;

	if (m->start < base + r->bytes && base < m->end)
		return true;
	if (holds(m, r->thread) || holds(m, r->shadow) || holds(m, r->code))
		return true;
	return m->file && !m->writable && !m->shared;
}

/* Unmap the process's memory. Otherwise each page that the process writes to from now on
 * would be copied, and a task that hangs would keep all of it. */
static OP_TASK_CODE void unmap_others(struct op_task_region *r)
{
	static const char path[] = "/proc/self/maps";
	char text[MAPS_PIECE];
	char line[MAPS_LINE_MAX];
	size_t len = 0;
	long fd = op_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	long n;
	long i;

	while (fd >= 0 && (n = op_syscall(SYS_read, fd, text, MAPS_PIECE)) > 0) {
		for (i = 0; i < n; i++) {
			struct range m;

			if (text[i] != '\n') {
				if (len < MAPS_LINE_MAX - 1)
					line[len++] = text[i];
				continue;
			}
			line[len] = 0;
			len = 0;
			parse_range(line, &m);
			if (!is_needed(r, &m))
				(void)op_syscall(SYS_munmap, m.start, m.end - m.start);
		}
	}
	(void)op_syscall(SYS_close, fd);
}

static OP_TASK_CODE void serve(struct op_task_region *r)
{
	int sock = r->far;
	uint8_t byte;

	/* A task that hangs must not keep the process's memory and descriptors alive. */
	if (!OP_SANITIZED)
		unmap_others(r);
	(void)op_syscall(__NR_close_range, 0, sock - 1, 0);
	(void)op_syscall(__NR_close_range, sock + 1, ~0U, 0);
	(void)op_syscall(SYS_prctl, PR_SET_NAME, "otelprof-read", 0, 0, 0);
	(void)op_syscall(SYS_setpriority, PRIO_PROCESS, 0, TASK_NICE);
	/* Ends when the process exits or executes another program, which closes its end
	 * of the socket. */
	while (op_syscall(SYS_read, sock, &byte, 1) == 1) {
		uint64_t waited = waited_ns();
		int fd = -1;

		r->result = r->fn(r->data, &fd);
		waited = waited_ns() - waited;
		/* the two clocks need not run at the same rate */
		r->spent_ns = waited >> 63 ? 0 : waited;
		if (answer(sock, fd) < 0)
			break;
		if (fd >= 0)
			(void)op_syscall(SYS_close, fd);
	}
}

OP_TASK_CODE __attribute__((noreturn)) void op_task_main(struct op_task_region *r)
{
	serve(r);
	for (;;)
		(void)op_syscall(SYS_exit, 0);
}
