/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a live process: of this one, not of a later one with its number. Pages that
 * are there are read directly, others by a child with a deadline (target.h).
 */
#ifndef OP_TARGET_REMOTE_H
#define OP_TARGET_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"

struct op_target;

struct op_remote {
	struct op_memory memory;
	struct op_target *target;
	int pid;
	uint64_t id; /* of its descriptors (view.h), from the first read on */
	/* CLOCK_MONOTONIC; a process that began later is another one. 0: not known. */
	uint64_t born_ns;
	uint64_t start_ticks; /* of its /proc/PID/stat, from the first read on */
	bool gone; /* ended or another program by now: nothing can be read any more */
};

/* Borrows @target; NULL: nothing can be read. */
void op_remote_init(struct op_remote *m, struct op_target *target, int pid);
/* Thread @tid stands for its process from now on, whose leader is gone. */
void op_remote_follow(struct op_remote *m, int tid);

#endif
