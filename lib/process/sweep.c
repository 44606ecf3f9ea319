/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/io.h"
#include "base/macros.h"
#include "process/registry.h"
#include "process/state.h"
#include "process/target/scan.h"

enum {
	/* Idle processes that are kept. Others are forgotten, and read from /proc when
	 * they are sampled: an idle process must cost nothing. */
	IDLE_MAX = 1024,
	/*
	 * After reading all maps, the pause before the next such sweep, in durations of
	 * the last one. So sweeps take a limited part of the time, even if reading itself
	 * causes the loss of events.
	 */
	LOST_PAUSE_FACTOR = 10,
	GONE_A_SLICE = 256,
	FORGET_A_SLICE = 64,
	SLICE_PARTS = 10, /* a poll's share for a slice */
};

/* The pause between two slices. */
static const uint64_t SLICE_PAUSE_NS = UINT64_C(10000000);
static const uint64_t LOST_PAUSE_NS = UINT64_C(500000000);
static const uint64_t GONE_CHECK_NS = UINT64_C(60000000000);
/* a process that was not used for this time is idle */
static const uint64_t IDLE_NS = UINT64_C(60000000000);

void op_sweep_init(struct op_sweep *s)
{
	TAILQ_INIT(&s->used);
	TAILQ_INIT(&s->reading);
	s->reread = s->gone = NULL;
}

static void end_scan(struct op_sweep *s)
{
	if (s->scan)
		(void)closedir(s->scan);
	s->scan = NULL;
}

void op_sweep_deinit(struct op_sweep *s)
{
	end_scan(s);
}

int op_sweep_scan(struct op_processes *p)
{
	_cleanup_close_ int fd = op_open(p->procfs_root, O_RDONLY | O_DIRECTORY);
	DIR *dir;

	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	fd = -1;
	end_scan(&p->sweep);
	p->sweep.scan = dir;
	return 0;
}

/* Add the next process of /proc, if it is not known. */
static void scan_next(struct op_processes *p)
{
	struct op_sweep *s = &p->sweep;
	struct dirent *entry = readdir(s->scan);
	uint32_t pid;

	if (!entry || p->alive >= IDLE_MAX || p->alive >= p->config.max_processes) {
		end_scan(s);
		return;
	}
	pid = op_scan_number(entry->d_name);
	if (pid && !op_registry_find_alive(p, pid))
		(void)op_registry_learn(p, pid);
}

static void reread_next(struct op_processes *p)
{
	struct op_sweep *s = &p->sweep;
	struct op_proc *proc = s->reread;
	uint64_t now;

	s->reread = TAILQ_PREV(proc, op_proc_list, used_link);
	proc->reread = s->number;
	if (!op_scan_exists(p->procfs_root, proc->pid))
		op_registry_end(p, proc, 0);
	else if (op_registry_restart(p, proc) < 0)
		proc->rescan = true;
	if (s->reread)
		return;
	now = op_clock_monotonic_ns();
	s->lost_after_ns = p->now_ns +
			   OP_MAX(LOST_PAUSE_NS, (now - s->began_ns) * LOST_PAUSE_FACTOR);
}

bool op_sweep_run(struct op_processes *p, uint64_t budget_ns)
{
	struct op_sweep *s = &p->sweep;
	uint64_t end = op_allowance_now(p->config.allowance) + budget_ns;

	while (s->reread || s->scan) {
		/* first the known processes, whose mappings may be wrong */
		if (s->reread)
			reread_next(p);
		else
			scan_next(p);
		if (op_allowance_now(p->config.allowance) >= end)
			break;
	}
	return s->reread || s->scan;
}

static void begin_reread(struct op_processes *p)
{
	struct op_sweep *s = &p->sweep;

	s->lost = false;
	s->number++;
	s->began_ns = op_clock_monotonic_ns();
	s->lost_after_ns = p->now_ns + LOST_PAUSE_NS;
	s->reread = TAILQ_LAST(&s->used, op_proc_list);
	(void)op_sweep_scan(p);
}

/* End processes that are gone without an exit event. */
static void look_who_is_gone(struct op_processes *p)
{
	struct op_sweep *s = &p->sweep;
	int i;

	for (i = 0; s->gone && i < GONE_A_SLICE; i++) {
		struct op_proc *proc = s->gone;

		s->gone = TAILQ_NEXT(proc, used_link);
		if (!op_scan_exists(p->procfs_root, proc->pid))
			op_registry_end(p, proc, 0);
	}
}

static void forget_idle(struct op_processes *p)
{
	int i;

	for (i = 0; p->alive > IDLE_MAX && i < FORGET_A_SLICE; i++) {
		struct op_proc *proc = TAILQ_FIRST(&p->sweep.used);

		if (p->now_ns < proc->used_ns + IDLE_NS)
			return;
		/* a process whose maps cannot be read could not be learnt again, so it is
		 * kept */
		if (op_scan_readable(p->procfs_root, proc->pid))
			op_registry_forget(p, proc);
		else
			op_proc_lists_use(p, proc);
	}
}

/* A slice of the maps of the process whose turn it is. */
static void read_on(struct op_processes *p)
{
	struct op_proc *proc = TAILQ_FIRST(&p->sweep.reading);
	uint64_t poll_ns = p->config.allowance ? p->config.allowance->poll_end_ns : 0;
	int r;

	/* a poll settles often, and reads at least one slice */
	if (poll_ns && poll_ns == p->sweep.read_poll_ns &&
	    op_allowance_is_over(p->config.allowance))
		return;
	p->sweep.read_poll_ns = poll_ns;
	r = proc ? op_registry_rescan(p, proc) : 0;
	if (r < 0 && r != -EINPROGRESS)
		op_proc_lists_touch(p, proc); /* it may have to be read again */
	if (!TAILQ_EMPTY(&p->sweep.reading))
		p->settle_on = true;
}

void op_sweep_settle(struct op_processes *p)
{
	struct op_sweep *s = &p->sweep;
	uint64_t now_ns;
	uint64_t end_ns;

	read_on(p);
	if (p->now_ns < s->slice_after_ns)
		return;
	s->slice_after_ns = p->now_ns + SLICE_PAUSE_NS;
	if (s->lost && !s->reread && p->now_ns >= s->lost_after_ns)
		begin_reread(p);
	if (p->now_ns >= s->gone_after_ns) {
		s->gone = s->gone_after_ns ? TAILQ_FIRST(&s->used) : NULL;
		s->gone_after_ns = p->now_ns + GONE_CHECK_NS;
	}
	look_who_is_gone(p);
	forget_idle(p);
	now_ns = op_allowance_now(p->config.allowance);
	end_ns = op_allowance_part(p->config.allowance, now_ns, SLICE_PARTS);
	(void)op_sweep_run(p, end_ns - now_ns);
}

bool op_sweep_busy(const struct op_processes *p)
{
	return p->sweep.reread || p->sweep.scan || p->sweep.gone;
}
