/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What belongs to another process is read here and nowhere else: its memory, its files, its
 * text in /proc, its perf map.
 *
 * Threat model. Any process on the host may be hostile. It chooses what it maps and where,
 * what its files hold, what its /proc text says, and when each of them changes: also between
 * two of our calls. It may have root in its own namespaces and may serve file systems (FUSE)
 * and pages (userfaultfd) itself. It may not write as another user on the host's own file
 * systems. It wants to
 *
 *   stop us       A call that it can stall is made by a child that can be left behind
 *                 (task/task.h), with a deadline. The process is then set aside, each time
 *                 for twice as long. All waits together take no more than a share of the
 *                 time. No descriptor of a file that a program serves ever comes to this
 *                 process, where even close() could wait: such a file is copied.
 *   exhaust us    Bytes, entries and time are bounded for each file and each process, by
 *                 named limits; maps keyed by foreign values are seeded (base/hash.h).
 *   mislead us    A file is what it was mapped as only if device and inode say so after it
 *   about others  was opened. It is opened below the process's root, through no link out of
 *                 it, and only a regular file. Memory is read of the process that is meant,
 *                 not of a later one with its number. Files share what is made of them only
 *                 where their content is the same (image/image.h).
 *   speak for     What it says of itself never stands for what is observed, nor for what
 *   others        the operator set (resource/attributes.h).
 *
 * What it says of itself may be wrong, and what it hides stays hidden: that harms its own
 * profile alone.
 *
 * A child's answer takes ten times as long as a read, so it is asked only where a call may
 * stall. Memory is read directly where its pages are there (view.h), a file where it lies on
 * a disk of the host, and neither where some program may serve pages or files on this host at
 * all (servers.h): then everything goes through the child. What is left is a first FUSE mount
 * of the host, made by the very program that is read, within the 10 ms between a look at the
 * connections and a read, whose page it takes away within the microsecond between the
 * question and the read; and a program with the right to trace any process, which needs no
 * such thing to stop us.
 */
#ifndef OP_TARGET_TARGET_H
#define OP_TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "target/servers.h"
#include "target/task/task.h"
#include "target/view.h"

enum {
	/* Processes that stalled a call lately; more are forgotten, and may do so again. */
	OP_TARGET_ASIDE_MAX = 1024,
	OP_TARGET_PATH_MAX = 4096,
};

/* A call: reads of memory that is there and files in the page cache take microseconds. */
#define OP_TARGET_DEADLINE_NS UINT64_C(10000000)
/* Of the time no more than this is waited: a bucket that fills by a fifth of real time. */
#define OP_TARGET_WAIT_MAX_NS UINT64_C(20000000)
#define OP_TARGET_WAIT_SHARE  5
/* Set aside for 1 s, 2 s, … 64 s. */
#define OP_TARGET_ASIDE_NS UINT64_C(1000000000)

struct op_target_stats {
	uint64_t stalled; /* calls ended at their deadline */
	uint64_t refused; /* calls of processes set aside, and past the share of time */
	uint64_t asked;	  /* calls that a child made */
};

/* Who makes a call. */
enum op_target_by {
	OP_TARGET_CHILD, /* it may stall */
	OP_TARGET_SELF,
};

struct op_target {
	struct op_tasks tasks;
	struct op_views views;
	struct op_servers servers;
	void *own; /* place of requests that we make ourselves; NULL: none so far */
	bool by_self;
	char *procfs_root;
	struct op_map64 aside; /* pid to when it ends, in ms, << 8 | stalls */
	uint64_t may_wait_ns;
	uint64_t filled_ns; /* when that was brought up to date */
	struct op_target_stats stats;
};

int op_target_new(const char *procfs_root, struct op_target **ret);
struct op_target *op_target_free(struct op_target *t);
OP_DEFINE_CLEANUP(struct op_target *, op_target_free)

/* Once in a while: end what is idle. */
void op_target_rest(struct op_target *t, uint64_t now_ns);

/* May a program of this host serve pages or files? Then nothing is read directly. */
bool op_target_is_served(struct op_target *t);
/* Is the process set aside? Counts it as refused. */
bool op_target_is_aside(struct op_target *t, uint32_t pid);

/*
 * A call about process @pid begins: *@ret is the place of its request. Returns 0;
 * -ETIMEDOUT where the process is set aside; -EAGAIN where nothing can be read for now.
 */
int op_target_begin(struct op_target *t, uint32_t pid, enum op_target_by by, void **ret);
/* Make the call that op_target_begin() began. As op_task_run(). */
int op_target_run(struct op_target *t, uint32_t pid, op_task_fn fn, int *ret_fd);

/* At most @limit bytes of /proc/PID/@name, with a NUL. Caller frees *@ret. Returns their
 * number or -errno. */
ssize_t op_target_read_proc(struct op_target *t, uint32_t pid, const char *name,
			    size_t limit, char **ret);

#endif
