/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of this folder and what they refer to:
 *
 *   op_processes ── by_pid ──> op_proc (alive, or ended and kept for late records)
 *     op_proc ──> op_mappings    executable mappings; shared after a fork, copied on change
 *             ──> op_program     the program, from fork or exec to exec or exit
 *             ──> op_generation  what was published of both; the current one and older ones
 *     op_mappings ──> op_executable  a file, known by device and inode
 *     op_executable ──> op_image   a file's content: unwind table, names, runtime
 *
 * Mappings, programs, executables and images are reference-counted. The others have one
 * owner.
 */
#ifndef OP_PROCESS_STATE_H
#define OP_PROCESS_STATE_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "base/hash.h"
#include "base/vec.h"
#include "process/image/executable.h"
#include "process/mappings/changes.h"
#include "process/mappings/mappings.h"
#include "process/processes.h"
#include "process/program.h"
#include "process/resource/membership.h"
#include "process/target/target.h"
#include "profile/cache.h"

struct op_elf;
struct op_proc;

/* A state of a process: as it was published, or before it could be published. */
struct op_generation {
	/* in op_processes.retired, after it was replaced */
	TAILQ_ENTRY(op_generation) link;
	struct op_generation *older; /* an older one of the same process */
	struct op_proc *proc;
	struct op_mappings *mappings;
	struct op_program *program;
	uint32_t change_number; /* op_changes.number of its mappings */
	op_ref process;		/* its struct op_process in the arena; 0: not published */
	uint32_t number;	/* unique in the handle; 0: not published */
	bool committed;		/* it was written to the BPF programs' map */
	uint64_t replaced_ns;	/* 0: current */
};

/* Readings of a process's maps that samples ask for. */
struct op_proc_looks {
	uint64_t last_ns;  /* when the last one began */
	uint64_t after_ns; /* the next one does not begin before */
	uint64_t wait_ns;
};

struct op_proc {
	TAILQ_ENTRY(op_proc) dirty_link;
	TAILQ_ENTRY(op_proc) ended_link;
	TAILQ_ENTRY(op_proc) used_link; /* op_sweep.used, while it is alive */
	/* op_processes.waiting: a runtime was not ready */
	TAILQ_ENTRY(op_proc) waiting_link;
	TAILQ_ENTRY(op_proc) reading_link; /* op_sweep.reading */
	struct op_reading *reading;	   /* unfinished, of its maps; NULL: none */
	struct op_proc *same_pid; /* an earlier process with this pid, which has ended */
	struct op_mappings *mappings;
	struct op_changes changes; /* of mappings */
	struct op_program *program;
	struct op_generation *current;
	struct op_generation *older; /* newest first */
	uint64_t ended_ns;	     /* 0: alive */
	/* the next publication is not before: long lists are not published at every
	 * change */
	uint64_t publish_after_ns;
	uint32_t pid;
	uint64_t born_ns; /* time of its fork (CLOCK_MONOTONIC); 0: unknown */
	/* an earlier state of a process, made for one walk: it is in no list */
	bool past;
	bool dirty;
	uint64_t listed_ns; /* the last event or reading that changed mappings */
	uint64_t
		sure_ns; /* the last reading or exec: no event of before can be missing */
	/* The last time at which a sample had the number of code pages that mappings has. */
	uint64_t matched_ns;
	struct op_proc_looks looks;
	uint32_t vain_looks; /* readings in a row that found no new file */
	bool rescan;	     /* not all mappings are known: its maps must be read */
	bool kernel;	     /* a kernel thread: nothing is published */
	/* there was no time for all the work of its publication */
	bool unfinished;
	bool waiting;	 /* it is in op_processes.waiting */
	bool forked;	 /* op_fork may have copied its parent's table */
	uint32_t reread; /* number of the last sweep that read its maps */
	uint64_t used_ns;
};

TAILQ_HEAD(op_proc_list, op_proc);
TAILQ_HEAD(op_generation_list, op_generation);

/* State of sweep.c. */
struct op_sweep {
	struct op_proc_list used;    /* living processes, least recently used first */
	DIR *scan;		     /* the scan of /proc; NULL: none is under way */
	struct op_proc_list reading; /* processes whose maps are partly read */
	/* the next process whose maps are read again; NULL: none */
	struct op_proc *reread;
	struct op_proc *gone; /* the next process checked for being gone; NULL: none */
	uint32_t number;      /* of the last sweep that read all maps (op_proc.reread) */
	bool lost;	      /* events were lost: all maps must be read again */
	uint64_t began_ns;    /* when that sweep began reading */
	uint64_t lost_after_ns; /* the next such sweep does not begin before */
	uint64_t gone_after_ns;
	uint64_t slice_after_ns;
	uint64_t read_poll_ns; /* poll_end_ns of the poll that last read maps */
};

/* Which runtimes are attached. */
struct op_processes_runtimes {
	uint32_t wanted; /* bits of enum op_runtime whose steps were loaded */
	uint32_t refused;
	uint64_t attach_after_ns; /* when one is tried again; 0: none waits */
	uint64_t fallback_after_ns;
};

/* When everything known was last published. */
struct op_processes_fence {
	uint64_t drained_ns; /* the time of the last event in that publication */
	uint64_t end_ns;     /* when that publication ended */
};

/* The places of threads' contexts that the kernel has. */
struct op_processes_contexts {
	struct op_map64 numbers; /* by pid */
	uint32_t next;
	uint64_t refused; /* OP_CONTEXTS_MAX */
};

struct op_processes {
	struct op_processes_config config;
	char *procfs_root;
	char *sysfs_root;
	struct op_target *target;
	char *service_name;	/* NULL: the executable's name */
	struct op_map64 by_pid; /* -> struct op_proc * */
	struct op_proc_list dirty;
	bool settle_on; /* settle again at once: there was no time for all work */
	struct op_proc_list ended;
	struct op_proc_list waiting;
	struct op_sweep sweep;
	struct op_generation_list retired;
	struct op_executables executables;
	struct op_made_pages made; /* rules of code that processes make */
	struct op_memberships memberships;
	size_t perfmaps; /* number of open perf maps */
	uint64_t unseen;
	/* freed because memory was short */
	uint64_t tables_evicted;
	uint64_t processes_evicted;
	uint64_t now_ns;  /* time of the last settle or record */
	uint64_t read_ns; /* all records before this time were read; 0: unknown */
	size_t alive;
	size_t kept;		  /* processes that ended and are still in by_pid */
	uint32_t next_generation; /* or program: the last number */
	struct op_processes_runtimes runtimes;
	struct op_processes_fence fence;
	struct op_processes_contexts contexts;
	/* op_publish_open_file(), for callers in a lower layer */
	int (*open_file)(struct op_processes *p, const struct op_program *program,
			 const struct op_mapping *v, struct op_elf **ret,
			 uint64_t *ret_bias);
	struct op_process_watch watch; /* all NULL: no callback */
	bool forked;
};

/* All records before this time were read. On a busy machine it may be long ago. */
static inline uint64_t op_process_read_ns(const struct op_processes *p)
{
	uint64_t read_ns = p->read_ns ? p->read_ns : p->now_ns;

	return read_ns < p->now_ns ? read_ns : p->now_ns;
}

/* May an object that ended or was replaced at @ns be freed? It is kept for
 * OP_PROCESS_KEEP_NS, and until the records of that time were read. */
static inline bool op_process_is_over(const struct op_processes *p, uint64_t ns)
{
	return op_process_read_ns(p) >= ns + OP_PROCESS_KEEP_NS;
}

/* What ended before this time is no longer kept. */
static inline uint64_t op_process_over_ns(const struct op_processes *p)
{
	uint64_t read_ns = op_process_read_ns(p);

	return read_ns < OP_PROCESS_KEEP_NS ? 0 : read_ns - OP_PROCESS_KEEP_NS;
}

/* proc_lists.c: the lists that hold a process while it is alive: to be published, waiting for
 * a runtime, and by use. */

/* Mark it: the next settle publishes it. */
void op_proc_lists_touch(struct op_processes *p, struct op_proc *proc);
/* If a runtime of @proc was not ready, publish @proc again when that runtime is tried
 * again. If its maps must be read for that, publish it now. */
void op_proc_lists_note_waiting(struct op_processes *p, struct op_proc *proc);
/* Mark all processes that wait for a runtime. */
void op_proc_lists_touch_waiting(struct op_processes *p);
/* Empty the lists by use, after the last process was removed. */
void op_proc_lists_clear(struct op_processes *p);
/* Add a new process. */
void op_proc_lists_add(struct op_processes *p, struct op_proc *proc);
/* The process was used by a record or an event. */
void op_proc_lists_use(struct op_processes *p, struct op_proc *proc);
/* Remove a process that ended or was forgotten. */
void op_proc_lists_remove(struct op_processes *p, struct op_proc *proc);
/* The least recently used process; NULL if it was used within the last second, or if
 * there is none. */
struct op_proc *op_proc_lists_least_used(const struct op_processes *p);

/*
 * sweep.c: work on all processes, in slices between samples and events. It scans /proc,
 * continues readings of maps, reads all maps again after events were lost, finds processes
 * that are gone, and forgets idle ones. Where the order matters, the most recently used
 * process comes first.
 */

void op_sweep_init(struct op_sweep *s);
void op_sweep_deinit(struct op_sweep *s);
/* Begin a scan of /proc. Returns 0 or -errno. */
int op_sweep_scan(struct op_processes *p);
/* Work for about @budget_ns. Returns true while there is more to do. */
bool op_sweep_run(struct op_processes *p, uint64_t budget_ns);
/* Do a slice of the work that is due. Cheap if there is none. */
void op_sweep_settle(struct op_processes *p);
/* Is a sweep or a scan running? */
bool op_sweep_busy(const struct op_processes *p);

#endif
