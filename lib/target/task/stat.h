/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of /proc/PID/stat, with no C library: for tasks (task.h) too. */
#ifndef OP_TARGET_TASK_STAT_H
#define OP_TARGET_TASK_STAT_H

#include <stddef.h>
#include <stdint.h>

enum {
	/* of proc(5), counted from 1 */
	OP_STAT_START_FIELD = 22,
	OP_STAT_ARGUMENTS_FIELD = 48, /* and the next three: end, environment, its end */
};

/* The @len numbers from field @first on; what is not there is 0. */
void op_stat_numbers(const char *path, int first, uint64_t *ret, size_t len);
/* When the process began, in clock ticks after boot; 0: it is not there. */
uint64_t op_stat_start(const char *path);

#endif
