/* SPDX-License-Identifier: Apache-2.0 */
/* Everything of another process is read here and nowhere else: its memory, its files, its
 * text in /proc, its perf map. */
#ifndef OP_PROCESS_TARGET_TARGET_H
#define OP_PROCESS_TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "process/target/stall_risk.h"
#include "process/target/task/task.h"
#include "process/target/view.h"

enum {
	/* Processes whose calls stalled recently. Past that some are forgotten, and may
	 * stall the library again. */
	OP_TARGET_ASIDE_MAX = 1024,
	OP_TARGET_PATH_MAX = 4096,
	OP_TARGET_SIZES = 16,
};

/* Deadline of one call. Reads of present memory and of the page cache take
 * microseconds. */
#define OP_TARGET_DEADLINE_NS UINT64_C(10000000)
/* Limit of all waits: a bucket that fills with a fifth of real time. */
#define OP_TARGET_WAIT_MAX_NS UINT64_C(20000000)
#define OP_TARGET_WAIT_SHARE  5
/* The first pause of a process that stalled; then 2 s, 4 s, … 64 s. */
#define OP_TARGET_ASIDE_NS UINT64_C(1000000000)

struct op_target_stats {
	uint64_t stalled; /* calls that reached their deadline */
	/* calls refused because of a recent stall or the budget of time */
	uint64_t refused;
	uint64_t asked;	     /* calls made by a child */
	uint64_t mappings;   /* executable mappings that were read */
	uint64_t maps_bytes; /* bytes of maps that were read */
};

/* Is a process large? Known for a moment, because its files are opened one after the other. */
struct op_target_size {
	uint32_t pid;
	bool large;
	uint64_t until_ns;
};

/* Which process makes a call. */
enum op_target_by {
	OP_TARGET_CHILD, /* it may stall */
	OP_TARGET_SELF,
};

struct op_target {
	struct op_tasks tasks;
	struct op_views views;
	struct op_stall_risk servers;
	void *own; /* memory for requests that this process makes; NULL: none yet */
	bool by_self;
	bool no_search;	    /* the kernel does not search mappings by itself */
	bool no_handles;    /* the kernel refuses to open files by handles */
	uint32_t maps_open; /* struct op_maps_reader with an open file */
	char *procfs_root;
	struct op_map64 aside; /* pid -> the end of the pause in ms << 8 | stalls */
	struct op_map64 slow;  /* pid -> until when the child reads, in ms */
	struct op_target_size sizes[OP_TARGET_SIZES]; /* by pid % OP_TARGET_SIZES */
	uint64_t deadline_ns; /* only tests change this and the next one */
	uint64_t wait_max_ns;
	uint64_t may_wait_ns;
	uint64_t filled_ns; /* when may_wait_ns was last updated */
	struct op_target_stats stats;
};

int op_target_new(const char *procfs_root, struct op_target **ret);
struct op_target *op_target_free(struct op_target *t);
OP_DEFINE_CLEANUP(struct op_target *, op_target_free)

/* Call this now and then: it ends idle tasks. */
void op_target_rest(struct op_target *t, uint64_t now_ns);

/* Might a program of this host serve pages or files? If so, nothing is read directly. */
bool op_target_is_served(struct op_target *t);
/* Is the process skipped for now because a call about it stalled? */
bool op_target_is_aside(struct op_target *t, uint32_t pid);

/* A direct read of process @pid began at @begin_ns and has ended. If it took long,
 * another thread of that process held its memory lock, and the child reads it for a
 * while. So too after a call that stalled. */
void op_target_note_read(struct op_target *t, uint32_t pid, uint64_t begin_ns);
/* Are direct reads of the process likely to wait: was one slow, or might a program of this
 * host serve pages? */
bool op_target_may_stall(struct op_target *t, uint32_t pid);
/* Who makes a call that takes the memory lock of process @pid: the child if the lock may be
 * held for long, because some program serves pages, because it was held for long before, or
 * because fork(2) of so much memory holds it. */
enum op_target_by op_target_who_locks(struct op_target *t, uint32_t pid);
/* Process @pid has just executed a program, and is small. */
void op_target_on_exec(struct op_target *t, uint32_t pid);

/* Begin a call about process @pid. *@ret is the memory for its request. Returns 0,
 * -ETIMEDOUT if the process is skipped after a stall, -EAGAIN if nothing can be read for
 * now. */
int op_target_begin(struct op_target *t, uint32_t pid, enum op_target_by by, void **ret);
/* Make the call that op_target_begin() began. Returns like op_task_run(). */
int op_target_run(struct op_target *t, uint32_t pid, op_task_fn fn, int *ret_fd);

/* Read at most @limit bytes of /proc/PID/@name, and add a NUL. The caller frees *@ret.
 * Returns the number of bytes or -errno. */
ssize_t op_target_read_proc(struct op_target *t, uint32_t pid, const char *name,
			    size_t limit, char **ret);

#endif
