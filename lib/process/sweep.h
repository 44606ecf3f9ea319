/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work over all processes, in slices between which samples and events are taken: the scan
 * of /proc, reading all maps anew after events were lost, looking who is gone, and
 * forgetting those that were idle for long. The most recently used process comes first
 * where it matters.
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
	/* Idle processes known beforehand. More are forgotten, and learnt from /proc when they
	 * are sampled: an idle process must cost nothing. */
	OP_SWEEP_IDLE_MAX = 1024,
};

TAILQ_HEAD(op_proc_used_list, op_proc);

struct op_sweep {
	struct op_proc_used_list used; /* the living, least recently used first */
	DIR *scan;		       /* of /proc; NULL: none runs */
	struct op_proc *reread; /* the next whose maps are read anew; NULL: none is */
	struct op_proc *gone;	/* the next of which is asked whether it is there */
	uint32_t number;	/* of the reading anew: struct op_proc.reread */
	bool lost;		/* events were: a reading is due */
	uint64_t began_ns;	/* it, by the clock */
	uint64_t lost_after_ns; /* no other one before */
	uint64_t gone_after_ns;
	uint64_t slice_after_ns;
};

void op_sweep_init(struct op_sweep *s);
void op_sweep_deinit(struct op_sweep *s);

/* Scan /proc from now on. 0 or -errno. */
int op_sweep_scan(struct op_processes *p);
/* Work for about @budget_ns. Returns true while there is more to do. */
bool op_sweep_run(struct op_processes *p, uint64_t budget_ns);
/* A slice of what is due. Cheap where nothing is. */
void op_sweep_settle(struct op_processes *p);
/* Is more to be done soon? */
bool op_sweep_busy(const struct op_processes *p);

#endif
