/* SPDX-License-Identifier: Apache-2.0 */
#include "target/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/io.h"
#include "base/macros.h"
#include "target/syscalls.h"
#include "target/target.h"

enum {
	PIECE_BYTES = 64 << 10,
	STAT_BYTES = 1024,
	/* of proc(5), counted from 1 */
	STAT_STATE_FIELD = 3, /* the first one after the command name */
	STAT_START_FIELD = 22,
};

/* A start by /proc and one by the fork event, which differ by a tick and by rounding. */
static const uint64_t SAME_START_NS = UINT64_C(100000000);

struct request {
	char stat[OP_TARGET_PATH_MAX];
	int pid;
	uint64_t start_ticks; /* 0: as it is now */
	uint64_t addr;
	size_t len;
	uint8_t bytes[PIECE_BYTES];
};

_Static_assert(sizeof(struct request) <= OP_TASK_DATA_BYTES, "a request fits");

/* ---- in the task ---- */

/* When the process with that /proc/PID/stat began; 0: not there. */
static OP_TASK_CODE uint64_t start_of(const char *path)
{
	char text[STAT_BYTES];
	uint64_t ticks = 0;
	int field = STAT_STATE_FIELD - 1;
	long fd = op_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	long len;
	long at;

	if (fd < 0)
		return 0;
	len = op_syscall(SYS_read, fd, text, sizeof(text));
	(void)op_syscall(SYS_close, fd);
	/* The name may hold anything, a ')' too: the last one ends it. */
	for (at = len - 1; at >= 0 && text[at] != ')'; at--)
		;
	for (; at >= 0 && at < len && field < STAT_START_FIELD; at++)
		field += text[at] == ' ';
	for (; at >= 0 && at < len && text[at] >= '0' && text[at] <= '9'; at++)
		ticks = ticks * 10 + (uint64_t)(text[at] - '0');
	return ticks;
}

static OP_TASK_CODE int read_memory(void *data, int *ret_fd)
{
	struct request *q = data;
	struct iovec here = { .iov_base = q->bytes, .iov_len = q->len };
	struct iovec there = { .iov_base = (void *)(uintptr_t)q->addr,
			       .iov_len = q->len };
	uint64_t start = q->start_ticks;
	long n;

	(void)ret_fd;
	if (!start)
		start = start_of(q->stat);
	n = op_syscall6(SYS_process_vm_readv, q->pid, (long)&here, 1, (long)&there, 1, 0);
	if (n < 0)
		return (int)n;
	if ((size_t)n != q->len)
		return -EFAULT;
	if (!start || start_of(q->stat) != start)
		return -ESRCH;
	q->start_ticks = start;
	return 0;
}

/* ---- here ---- */

/* Is a process that began at @ticks the one that was born then? */
static bool is_born(const struct op_remote *m, uint64_t ticks)
{
	uint64_t asleep = op_clock_boottime_ns() - op_clock_monotonic_ns();
	long hz = sysconf(_SC_CLK_TCK);
	uint64_t start_ns;

	if (!m->born_ns || hz <= 0 ||
	    op_mul_overflow(ticks, UINT64_C(1000000000) / (uint64_t)hz, &start_ns))
		return true;
	return start_ns < asleep + m->born_ns + SAME_START_NS;
}

static int read_piece(struct op_remote *m, uint64_t addr, void *buf, size_t len)
{
	struct request *q;
	void *data;
	int r = op_target_begin(m->target, (uint32_t)m->pid, &data);

	if (r < 0)
		return r;
	q = data;
	q->pid = m->pid;
	q->start_ticks = m->start_ticks;
	q->addr = addr;
	q->len = len;
	if (snprintf(q->stat, sizeof(q->stat), "%s/%d/stat", m->target->procfs_root,
		     m->pid) >= (int)sizeof(q->stat))
		return -ENAMETOOLONG;
	r = op_target_run(m->target, (uint32_t)m->pid, read_memory, NULL);
	if (r < 0)
		return r;
	if (!m->start_ticks && !is_born(m, q->start_ticks)) {
		m->gone = true;
		return -ESRCH;
	}
	m->start_ticks = q->start_ticks;
	memcpy(buf, q->bytes, len);
	return 0;
}

static int remote_read(const struct op_memory *memory, uint64_t addr, void *buf,
		       size_t len)
{
	/* What was learned of it is kept with it. */
	struct op_remote *m = op_container_of((struct op_memory *)(uintptr_t)memory,
					      struct op_remote, memory);
	uint64_t end;
	size_t done;

	if (m->gone || !m->target)
		return -ESRCH;
	if (op_add_overflow(addr, len, &end))
		return -EFAULT;
	for (done = 0; done < len;) {
		size_t n = OP_MIN(len - done, (size_t)PIECE_BYTES);
		int r = read_piece(m, addr + done, (uint8_t *)buf + done, n);

		if (r < 0)
			return r;
		done += n;
	}
	return 0;
}

void op_remote_init(struct op_remote *m, struct op_target *target, int pid)
{
	*m = (struct op_remote){
		.memory.read = remote_read,
		.target = target,
		.pid = pid,
	};
}

void op_remote_follow(struct op_remote *m, int tid)
{
	m->pid = tid;
	m->born_ns = 0; /* threads begin later */
	m->start_ticks = 0;
}
