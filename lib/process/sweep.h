/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on all processes, in slices between which samples and events are handled: the scan
 * of /proc, reading all maps again after events were lost, looking which processes are
 * gone, and forgetting those that were idle for long. If the order matters, the most
 * recently used process comes first.
 */
#ifndef OP_PROCESS_SWEEP_H
#define OP_PROCESS_SWEEP_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct op_proc;
struct op_processes;

enum {
	/* Idle processes that are kept. Further ones are forgotten, and learnt from /proc
	 * when they are sampled: an idle process must cost nothing. */
	OP_SWEEP_IDLE_MAX = 1024,
};

TAILQ_HEAD(op_proc_used_list, op_proc);

struct op_sweep {
	/* processes that are alive, least recently used first */
	struct op_proc_used_list used;
	DIR *scan; /* the scan of /proc; NULL: none is under way */
	/* the next process whose maps are read again; NULL: none */
	struct op_proc *reread;
	/* the next process that is looked for in /proc; NULL: none */
	struct op_proc *gone;
	/* number of the last sweep that read all maps (op_proc.reread) */
	uint32_t number;
	bool lost;		/* events were lost: all maps must be read again */
	uint64_t began_ns;	/* when that sweep began */
	uint64_t lost_after_ns; /* the next such sweep does not begin before */
	uint64_t gone_after_ns;
	uint64_t slice_after_ns;
};

void op_sweep_init(struct op_sweep *s);
void op_sweep_deinit(struct op_sweep *s);

/* Begin a scan of /proc. Returns 0 or -errno. */
int op_sweep_scan(struct op_processes *p);
/* Work for about @budget_ns. Returns true while there is more to do. */
bool op_sweep_run(struct op_processes *p, uint64_t budget_ns);
/* Do a slice of the work that is due. It is cheap if there is none. */
void op_sweep_settle(struct op_processes *p);
/* Is a sweep or a scan under way? */
bool op_sweep_busy(const struct op_processes *p);

#endif
