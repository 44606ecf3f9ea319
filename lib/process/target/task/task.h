/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A task: a child process that makes the calls which another process can stall. A read of
 * foreign memory, or of a file that a program serves (FUSE), may never return, and some
 * waits in the kernel ignore even SIGKILL. So a child makes these calls. It shares one
 * mapping with us, has no descriptors and no signal handlers, and unmaps the copy of our
 * memory. When its time is over it is killed and left behind; the caller's own thread
 * never waits longer than that. It is made when it is first needed, and ends after being
 * idle for OP_TASK_IDLE_NS.
 *
 * The embedding process sees little of it: no SIGCHLD, and nothing that wait(2) returns
 * without __WALL. Making it costs as much as fork(2).
 *
 * If the kernel refuses such a child (a seccomp filter, valgrind), the calls are made
 * directly and without a deadline; `direct` says so.
 */
#ifndef OP_PROCESS_TARGET_TASK_TASK_H
#define OP_PROCESS_TARGET_TASK_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io.h"

enum {
	OP_TASK_DATA_BYTES = 128 << 10,
	OP_TASK_STACK_BYTES = 64 << 10,
	/* Tasks that were killed but still hang in the kernel; beyond that no call is
	 * made. */
	OP_TASKS_STUCK_MAX = 64,
	/* So many calls may stall before op_task_open_regular() opens nothing more. */
	OP_TASK_STALLS_MAX = 4,
};

#define OP_TASK_IDLE_NS UINT64_C(2000000000)
/* All copies that op_task_open_regular() makes wait so long together. */
#define OP_TASK_COPIES_NS UINT64_C(20000000000)

/*
 * A function that runs in the task. @data is the request, and holds the answer when it
 * returns. It has its stack, @data and constants. It must not call the C library;
 * op_syscall() makes system calls. A descriptor in *@ret_fd is passed to the caller.
 */
typedef int (*op_task_fn)(void *data, int *ret_fd);

struct op_task_region;
struct statfs;

struct op_tasks {
	struct op_task_region *current; /* NULL: none */
	struct op_task_region *stuck;
	size_t stuck_len;
	struct op_maker maker; /* of the task: a fork must not use it */
	bool direct;	       /* no task can be made: calls are made directly */
	uint64_t killed;
	/* how long the last call waited; after a timeout its deadline */
	uint64_t spent_ns;
	uint64_t used_ns;
	uint64_t copied_ns; /* waits for copies of served files */
};

void op_tasks_init(struct op_tasks *t);
/* End the task. A task that hangs in the kernel keeps its memory. */
void op_tasks_deinit(struct op_tasks *t);

/* End the task if it is idle at @now_ns, and reap those that no longer hang. */
void op_tasks_rest(struct op_tasks *t, uint64_t now_ns);

/* The memory for the request of the next call, OP_TASK_DATA_BYTES. NULL if there is no
 * task. The answer stays there until this function is called again. */
void *op_task_data(struct op_tasks *t);
/* Run @fn on the request. Returns what @fn returns; -ETIMEDOUT after @deadline_ns, and
 * then the data is gone; -EAGAIN if no task can be made for now. @ret_fd may be NULL. */
int op_task_run(struct op_tasks *t, op_task_fn fn, uint64_t deadline_ns, int *ret_fd);

/* What is done with a file of a file system that a program or another machine serves (FUSE,
 * NFS): each read of it may wait for ever. */
enum op_task_served {
	OP_TASK_SERVED_OPEN,   /* for a path that the user gave */
	OP_TASK_SERVED_REFUSE, /* -EREMOTE */
	/* It is read to memory: at most 256 MiB, within OP_TASK_COPIES_NS. The copy cannot
	 * be written. It has the file's mode and times, and where we may set it, the owner that
	 * the server states. */
	OP_TASK_SERVED_COPY,
};

/*
 * Open a regular file to read. Use it for every path that others chose. The type is known
 * before the open, because an open of a device or a pipe may have effects or block. A
 * file system that does not answer is given up. *@ret_mode (NULL: not wanted)
 * is the mode of what is there, 0 if it is not known. Returns a descriptor above 2;
 * -EISDIR; -ENOTSUP for other types; -ETIMEDOUT; -EFBIG; or another -errno.
 */
int op_task_open_regular(struct op_tasks *t, const char *path, enum op_task_served how,
			 uint32_t *ret_mode);
/* Is @fd a copy of a served file? Who owns it is what the server said. */
bool op_task_is_copy(int fd);
/* The part that runs in a task: reopen the file of @path_fd (O_PATH), which is closed.
 * Returns its descriptor, -ENOEXEC if it is not a regular file, or -errno. */
long op_task_reopen_regular(long path_fd, uint32_t *ret_mode);
/* Also there: does a program or another machine serve the file system? */
bool op_task_is_served(const struct statfs *fs);
/* Also there: copy the file @fd, which is closed, into memory. Returns the copy's
 * descriptor, -EFBIG if it has more than @max bytes, or -errno. */
long op_task_copy(long fd, uint64_t max);

#endif
