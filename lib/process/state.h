/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of this folder and who holds whom:
 *
 *   op_processes ── by_pid ──> op_proc (alive, or ended and kept for late records)
 *     op_proc ──> op_layout      what is mapped where; shared after fork, copied on change
 *             ──> op_program     who it is, from fork or exec to exec or exit
 *             ──> op_generation  what was published of both; the current one and older ones
 *     op_layout ──> op_executable  a file, by device and inode
 *     op_executable ──> op_image   a file's content: unwind table, names, runtime
 *
 * Layouts, programs, executables and images are counted; the rest has one owner.
 */
#ifndef OP_PROCESS_STATE_H
#define OP_PROCESS_STATE_H

#include <stdbool.h>
#include <sys/queue.h>

#include "base/hash.h"
#include "base/slice.h"
#include "base/vec.h"
#include "image/executable.h"
#include "process/layout.h"
#include "process/processes.h"
#include "process/program.h"
#include "process/sweep.h"
#include "profile/cache.h"
#include "resource/membership.h"
#include "target/target.h"

struct op_proc;

/* A process as it was once: as it was published, or before that could be. */
struct op_generation {
	TAILQ_ENTRY(op_generation) link; /* in op_processes.retired, once replaced */
	struct op_generation *older;	 /* of the same process */
	struct op_proc *proc;
	struct op_layout *layout;
	struct op_program *program;
	op_ref process;	      /* of struct op_process; 0: it was not published */
	uint32_t number;      /* one of its kind in the handle; 0: it was not published */
	bool committed;	      /* the kernel was told */
	uint64_t replaced_ns; /* 0: current */
};

struct op_proc {
	TAILQ_ENTRY(op_proc) dirty_link;
	TAILQ_ENTRY(op_proc) ended_link;
	TAILQ_ENTRY(op_proc) used_link;	   /* of the living: op_sweep.used */
	TAILQ_ENTRY(op_proc) waiting_link; /* for a runtime that was not ready */
	struct op_proc *same_pid;	   /* an earlier one of this pid, ended */
	struct op_layout *layout;
	struct op_program *program;
	struct op_generation *current;
	struct op_generation *older; /* newest first */
	uint64_t ended_ns;	     /* 0: alive */
	uint64_t publish_after_ns;   /* big layouts are not published at every change */
	uint32_t pid;
	uint64_t born_ns; /* of its fork, CLOCK_MONOTONIC; 0: unknown */
	bool past;	  /* as it was once, for one walk: in no list */
	bool dirty;
	bool rescan;	 /* its maps must be read: what is known is not all */
	bool kernel;	 /* a kernel thread: nothing to publish */
	bool unfinished; /* there was no time for all that its publication needs */
	bool waiting;	 /* in op_processes.waiting */
	bool forked;	 /* the kernel may know it by its parent's table */
	uint32_t reread; /* number of the sweep that read its maps */
	uint64_t used_ns;
};

TAILQ_HEAD(op_proc_list, op_proc);
TAILQ_HEAD(op_generation_list, op_generation);

struct op_processes {
	struct op_processes_config config;
	char *procfs_root;
	char *sysfs_root;
	struct op_target *target;
	char *service_name;	/* NULL: the executable's */
	struct op_map64 by_pid; /* to struct op_proc * */
	struct op_proc_list dirty;
	bool settle_on; /* there was no time for all of them */
	struct op_proc_list ended;
	struct op_proc_list waiting;
	struct op_sweep sweep;
	struct op_generation_list retired;
	struct op_executables executables;
	struct op_memberships memberships;
	size_t perfmaps; /* open */
	uint64_t unseen;
	struct op_slice slice; /* of the poll that works now */
	uint64_t now_ns;       /* of the last settle or record */
	uint64_t read_ns;      /* records up to here were read; 0: not told */
	size_t alive;
	size_t kept; /* ended, in by_pid still */
	uint32_t next_generation;
	uint32_t runtimes_wanted; /* bits of enum op_runtime: need_runtime said yes */
	uint32_t runtimes_refused;
	uint64_t attach_after_ns; /* a runtime waits for another try then; 0: none does */
	uint64_t fallback_after_ns;
	bool forked;
};

/* Is the time over for which what ended or was replaced at @ns is kept? Not before the
 * records of then were read: a busy machine may let us wait. */
static inline bool op_process_is_over(const struct op_processes *p, uint64_t ns)
{
	uint64_t read_ns = p->read_ns ? p->read_ns : p->now_ns;

	return (read_ns < p->now_ns ? read_ns : p->now_ns) >= ns + OP_PROCESS_KEEP_NS;
}

/* lists.c: the lists a living process stands in: to be published, waiting for a runtime, by
 * use. */

/* Publish it at the next settle. */
void op_lists_touch(struct op_processes *p, struct op_proc *proc);
/* Where a runtime of it was not ready: it is published again when that is tried. */
void op_lists_note_waiting(struct op_processes *p, struct op_proc *proc);
/* Publish all that wait for a runtime. */
void op_lists_touch_waiting(struct op_processes *p);
/* None lives. */
void op_lists_clear(struct op_processes *p);
/* It came to life. */
void op_lists_add(struct op_processes *p, struct op_proc *proc);
/* It was used: by a record, an event. */
void op_lists_use(struct op_processes *p, struct op_proc *proc);
/* It leaves the living. */
void op_lists_remove(struct op_processes *p, struct op_proc *proc);
/* The process used least recently, if that was not a moment ago; or NULL. */
struct op_proc *op_lists_least_used(const struct op_processes *p);

#endif
