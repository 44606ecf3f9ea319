/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that makes the calls which another process can stall. A read of foreign memory or
 * of a file that a program serves (FUSE) may never return, and in some kernels' waits not even
 * to a signal. So these calls are made by a child: it has one mapping with us in common, no
 * descriptors and no signal handlers, and gives up the copy of our memory. It is killed and
 * left behind when its time is over; the caller's own thread never waits longer than that. It
 * is made when it is first needed and ends when it was idle for OP_TASK_IDLE_NS.
 *
 * The process that embeds the library sees little of it: no SIGCHLD, nothing that wait(2)
 * returns without __WALL. Making it costs what fork(2) costs.
 *
 * Where the kernel refuses such a child (a seccomp filter, valgrind) the calls are made
 * directly and have no deadline; `direct` says so.
 */
#ifndef OP_TARGET_TASK_TASK_H
#define OP_TARGET_TASK_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OP_TASK_DATA_BYTES = 128 << 10,
	OP_TASK_STACK_BYTES = 64 << 10,
	/* Tasks that were killed and hang in the kernel still; past it no call is made. */
	OP_TASKS_STUCK_MAX = 64,
};

#define OP_TASK_IDLE_NS UINT64_C(2000000000)

/*
 * Runs in the task. @data is the request, and the answer when it returns. It has its stack,
 * @data and constants: it may call no function of the C library, op_syscall() makes system
 * calls. A descriptor in *@ret_fd goes to the caller.
 */
typedef int (*op_task_fn)(void *data, int *ret_fd);

struct op_task_region;

struct op_tasks {
	struct op_task_region *current; /* NULL: none */
	struct op_task_region *stuck;
	size_t stuck_len;
	int owner;   /* pid of the process that made the task: not a fork of it */
	bool direct; /* no task can be had */
	uint64_t killed;
	uint64_t spent_ns; /* that the last call waited; or its deadline */
	uint64_t used_ns;
};

void op_tasks_init(struct op_tasks *t);
/* Ends the task. One that hangs in the kernel keeps its memory. */
void op_tasks_deinit(struct op_tasks *t);

/* End the task if it is idle at @now_ns, and collect those that hung and are over. */
void op_tasks_rest(struct op_tasks *t, uint64_t now_ns);

/*
 * The place for the request of the next call: OP_TASK_DATA_BYTES. NULL where none can be
 * had. The answer stays there until the next call of this function.
 */
void *op_task_data(struct op_tasks *t);
/*
 * Run @fn on it. Returns what @fn returns; -ETIMEDOUT after @deadline_ns, then the data is
 * gone; -EAGAIN where no task can be had for now. @ret_fd may be NULL.
 */
int op_task_run(struct op_tasks *t, op_task_fn fn, uint64_t deadline_ns, int *ret_fd);

#endif
