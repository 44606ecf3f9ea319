/* SPDX-License-Identifier: Apache-2.0 */
#include "session/ends.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/macros.h"
#include "process/processes.h"

enum {
	STAT_BYTES_MAX = 4096,
	STAT_FIELD_THREADS = 20, /* proc(5): num_threads */
	THREADED_MAX = 1 << 16,
	/* processes without a leader at one time, searched at each end of a thread.
	 * Beyond that the end of the leader ends the process. */
	ENDING_MAX = 128,
	UNKNOWN = 2, /* threads of a process that cannot be read: it counts as alive */
};

void op_endings_deinit(struct op_endings *ends)
{
	op_vec_clear(&ends->ending);
	op_map64_clear(&ends->leader_exited);
	op_map64_clear(&ends->threaded);
}

/* The number of threads of @pid; 0 if the process is gone; UNKNOWN if it cannot be read. */
static unsigned long thread_count(const struct op_endings *ends, uint32_t pid)
{
	_cleanup_free_ char *stat = NULL;
	char path[256];
	const char *p;
	int field;
	ssize_t r;

	(void)snprintf(path, sizeof(path), "%s/%u/stat", ends->procfs_root, pid);
	r = op_read_file(path, STAT_BYTES_MAX, &stat);
	if (r < 0)
		return r == -ENOENT || r == -ESRCH ? 0 : UNKNOWN;
	/* begin after the command name (field 2), which may contain any character */
	p = strrchr(stat, ')');
	for (field = 2; p && field < STAT_FIELD_THREADS; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoul(p + 1, NULL, 10) : 0;
}

void op_ends_on_lost(struct op_endings *ends, uint64_t time_ns)
{
	ends->lost_ns = OP_MAX(ends->lost_ns, time_ns);
}

void op_endings_on_thread(struct op_endings *ends, uint32_t pid, uint64_t time_ns)
{
	if (ends->threaded.len >= THREADED_MAX) {
		op_map64_clear(&ends->threaded);
		/* from here on the processes with threads are not known */
		ends->lost_ns = time_ns;
	}
	if (op_map64_put(&ends->threaded, pid, 1) < 0)
		ends->lost_ns = time_ns;
}

/*
 * May @pid, whose leader has just ended, have had other threads? It had none if its
 * fork was seen, no event was lost since, and no event named a thread. This saves
 * reading /proc for most processes.
 */
static bool may_have_threads(struct op_endings *ends, uint32_t pid)
{
	uint64_t born_ns = op_processes_born_ns(ends->processes, pid);
	uint64_t unused;

	return born_ns <= ends->lost_ns || op_map64_get(&ends->threaded, pid, &unused);
}

static struct op_ending *find_ending(struct op_endings *ends, uint32_t pid)
{
	struct op_ending *e;

	op_vec_foreach(e, &ends->ending)
		if (e->pid == pid)
			return e;
	return NULL;
}

static void forget(struct op_endings *ends, uint32_t pid)
{
	struct op_ending *e = find_ending(ends, pid);

	if (e)
		*e = ends->ending.data[--ends->ending.len];
}

static void end(struct op_endings *ends, uint32_t pid, uint64_t time_ns)
{
	forget(ends, pid);
	(void)op_map64_remove(&ends->leader_exited, pid);
	(void)op_map64_remove(&ends->threaded, pid);
	op_processes_on_exit(ends->processes, pid, time_ns);
}

void op_endings_on_exit(struct op_endings *ends, uint32_t pid, uint32_t tid,
			uint64_t time_ns)
{
	struct op_ending *e = find_ending(ends, pid);
	uint64_t unused;

	if (!e && pid != tid && !op_map64_get(&ends->leader_exited, pid, &unused))
		return;
	if (pid == tid && !may_have_threads(ends, pid)) {
		end(ends, pid, time_ns);
		return;
	}
	if (!e && ends->ending.len < ENDING_MAX)
		e = op_vec_push(&ends->ending);
	if (e)
		*e = (struct op_ending){ .pid = pid, .ended_ns = time_ns };
	else if (thread_count(ends, pid) <= 1)
		end(ends, pid, time_ns);
	else
		(void)op_map64_put(&ends->leader_exited, pid, 1);
}

void op_endings_on_fork(struct op_endings *ends, uint32_t pid)
{
	const struct op_ending *e = find_ending(ends, pid);

	if (e)
		end(ends, pid, e->ended_ns);
	(void)op_map64_remove(&ends->leader_exited, pid);
}

void op_endings_on_exec(struct op_endings *ends, uint32_t pid)
{
	forget(ends, pid);
	(void)op_map64_remove(&ends->leader_exited, pid);
}

/* Has the process ended? If /proc had no other thread, all of them had ended by then. A
 * later drain of the side-bands has brought their records. */
static bool is_over(const struct op_ending *e, uint64_t drained_ns)
{
	return e->alone_ns && e->alone_ns < drained_ns;
}

void op_endings_check(struct op_endings *ends, uint64_t drained_ns)
{
	size_t i = 0;

	while (i < ends->ending.len) {
		struct op_ending *e = &ends->ending.data[i];
		uint32_t pid = e->pid;

		if (is_over(e, drained_ns)) {
			/* the last one moves here */
			end(ends, pid, e->ended_ns);
		} else if (e->alone_ns) {
			i++;
		} else if (thread_count(ends, pid) <= 1) {
			e->alone_ns = op_clock_monotonic_ns();
			i++;
		} else { /* its other threads are alive */
			(void)op_map64_put(&ends->leader_exited, pid, 1);
			forget(ends, pid);
		}
	}
}
