/* SPDX-License-Identifier: Apache-2.0 */
/* Reads foreign memory directly or by a task, and detects that a pid is reused. */
#include "process/target/remote.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/io.h"
#include "base/macros.h"
#include "process/target/target.h"
#include "process/target/task/stat.h"
#include "process/target/task/syscalls.h"

enum {
	PIECE_BYTES = OP_VIEW_BYTES_MAX,
};

/* The largest difference between a process's start in /proc and its fork event: a tick,
 * and rounding. */
static const uint64_t SAME_START_NS = UINT64_C(100000000);

struct request {
	char stat[OP_TARGET_PATH_MAX];
	int pid;
	uint64_t start_ticks; /* 0: not checked, but returned */
	uint64_t addr;
	size_t len;
	uint8_t bytes[PIECE_BYTES];
};

_Static_assert(sizeof(struct request) <= OP_TASK_DATA_BYTES, "a request fits");

/* ---- in the child task (task/task.h) ---- */

static OP_TASK_CODE int read_memory(void *data, int *ret_fd)
{
	struct request *q = data;
	struct iovec here = { .iov_base = q->bytes, .iov_len = q->len };
	struct iovec there = { .iov_base = (void *)(uintptr_t)q->addr,
			       .iov_len = q->len };
	uint64_t start = q->start_ticks;
	long n;

	if (!start)
		start = op_task_stat_start(q->stat);
	n = op_syscall6(SYS_process_vm_readv, q->pid, (long)&here, 1, (long)&there, 1, 0);
	if (n < 0)
		return (int)n;
	if ((size_t)n != q->len)
		return -EFAULT;
	if (!start || op_task_stat_start(q->stat) != start)
		return -ESRCH;
	q->start_ticks = start;
	return 0;
}

/* ---- in this process ---- */

/* Is a process that started at @ticks the one that was born at m->born_ns? */
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

/* Is the process that started at @ticks the one that was read before, not a later one
 * with its pid? */
static bool note_start(struct op_remote *m, uint64_t ticks)
{
	if (m->start_ticks ? m->start_ticks != ticks : !is_born(m, ticks)) {
		m->gone = true;
		return false;
	}
	m->start_ticks = ticks;
	return true;
}

static int read_by_child(struct op_remote *m, uint64_t addr, void *buf, size_t len)
{
	struct request *q;
	void *data;
	int r = op_target_begin(m->target, (uint32_t)m->pid, OP_TARGET_CHILD, &data);

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
	m->gone = m->gone || r == -ESRCH;
	if (r < 0)
		return r;
	if (!note_start(m, q->start_ticks))
		return -ESRCH;
	memcpy(buf, q->bytes, len);
	return 0;
}

/* The view for a direct read. NULL: the pages are not in memory, or that is unknown. */
static struct op_view *find_view(struct op_remote *m, uint64_t addr, size_t len)
{
	struct op_target *t = m->target;
	struct op_view *view;

	if (!m->id)
		m->id = ++t->views.ids;
	view = op_views_get(&t->views, m->id, t->procfs_root, m->pid);
	if (!view || !op_view_is_there(view, addr, len))
		return NULL;
	if (!note_start(m, view->start_ticks)) {
		op_view_close(view);
		return NULL;
	}
	return view;
}

static int read_piece(struct op_remote *m, uint64_t addr, void *buf, size_t len)
{
	uint64_t begin_ns = op_clock_monotonic_ns();
	struct op_view *view = NULL;
	int r;

	if (op_target_is_aside(m->target, (uint32_t)m->pid)) {
		m->target->stats.refused++;
		return -ETIMEDOUT;
	}
	if (!op_target_may_stall(m->target, (uint32_t)m->pid))
		view = find_view(m, addr, len);
	if (!view) {
		op_target_note_read(m->target, (uint32_t)m->pid, begin_ns);
		return m->gone ? -ESRCH : read_by_child(m, addr, buf, len);
	}
	r = op_view_read(view, addr, buf, len);
	op_target_note_read(m->target, (uint32_t)m->pid, begin_ns);
	if (r == -ESRCH) {
		m->gone = true;
		op_view_close(view);
	}
	return r;
}

static int remote_read(const struct op_memory *memory, uint64_t addr, void *buf,
		       size_t len)
{
	/* the cast drops const: @m keeps what is learnt about the process */
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
	m->born_ns = 0; /* threads start later than their process */
	m->start_ticks = 0;
	m->id = 0;
	m->gone = false;
}
