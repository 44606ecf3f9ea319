/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When processes end. A process ends with its last thread, which may not be the leader:
 * the leader may end long before, or shortly before when all are killed. Other threads
 * keep their mappings until then, so the process's end is the last of the threads' ends.
 */
#ifndef OP_SESSION_ENDS_H
#define OP_SESSION_ENDS_H

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

struct op_processes;

/* A process of which a thread has ended since its leader did. */
struct op_ending {
	uint32_t pid;
	uint64_t ended_ns; /* time of the last known end of a thread */
	/* when /proc had no other thread; 0: not read yet */
	uint64_t alone_ns;
};

struct op_endings {
	struct op_processes *processes; /* borrowed */
	const char *procfs_root;	/* borrowed */
	uint64_t lost_ns;		/* the last time that events were lost */
	OP_VEC(struct op_ending) ending;
	struct op_map64 leader_exited; /* processes that live on without their leader */
	struct op_map64 threaded;      /* processes that started a thread */
};

void op_endings_deinit(struct op_endings *ends);

/* A thread other than the leader began. */
void op_endings_on_thread(struct op_endings *ends, uint32_t pid, uint64_t time_ns);
/* Thread @tid of @pid ended. */
void op_endings_on_exit(struct op_endings *ends, uint32_t pid, uint32_t tid,
			uint64_t time_ns);
/* @pid is a new process. An older one with this number has ended. */
void op_endings_on_fork(struct op_endings *ends, uint32_t pid);
/* A thread of @pid has executed a program and is the leader now. */
void op_endings_on_exec(struct op_endings *ends, uint32_t pid);
/* Events were lost before @time_ns. */
void op_ends_on_lost(struct op_endings *ends, uint64_t time_ns);
/* The side-bands were drained until @drained_ns: end the processes without threads. */
void op_endings_check(struct op_endings *ends, uint64_t drained_ns);

#endif
