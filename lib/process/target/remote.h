/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the memory of a live process, and never that of a later process with its pid.
 * Pages that are in memory are read directly, others by a child with a deadline
 * (target.h).
 */
#ifndef OP_PROCESS_TARGET_REMOTE_H
#define OP_PROCESS_TARGET_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"

struct op_target;

struct op_remote {
	struct op_memory memory;
	struct op_target *target;
	int pid;
	uint64_t id; /* key of its descriptors (view.h), set at the first read */
	/* CLOCK_MONOTONIC; a process that started later is another one. 0: unknown. */
	uint64_t born_ns;
	uint64_t start_ticks; /* from /proc/PID/stat, set at the first read */
	/* the process exited or executed another program: nothing can be read */
	bool gone;
};

/* Borrows @target; NULL: nothing can be read. */
void op_remote_init(struct op_remote *m, struct op_target *target, int pid);
/* Thread @tid represents the process from now on; the process's leader has exited. */
void op_remote_follow(struct op_remote *m, int tid);

#endif
