/* SPDX-License-Identifier: Apache-2.0 */
/* Reads numbers of /proc/PID/stat without the C library, so that tasks (task.h) can use
 * it. */
#ifndef OP_PROCESS_TARGET_TASK_STAT_H
#define OP_PROCESS_TARGET_TASK_STAT_H

#include <stddef.h>
#include <stdint.h>

enum {
	/* Numbers of fields as in proc(5), counted from 1. */
	OP_STAT_FLAGS_FIELD = 9,
	OP_STAT_CPU_FIELD =
		14, /* and the next: clock ticks in the program and in the kernel */
	OP_STAT_START_FIELD = 22,
	OP_STAT_RESIDENT_FIELD = 24, /* pages */
	/* the next three: end of arguments, environment and its end */
	OP_STAT_ARGUMENTS_FIELD = 48,
};

/* Read @len numbers from field @first on; a missing one is 0. */
void op_task_stat_numbers(const char *path, int first, uint64_t *ret, size_t len);
/* The start time of the process in clock ticks after boot; 0: there is no
 * such process. */
uint64_t op_task_stat_start(const char *path);

#endif
