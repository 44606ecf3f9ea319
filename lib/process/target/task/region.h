/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a task (task.h) shares with the process that made it. */
#ifndef OP_PROCESS_TARGET_TASK_REGION_H
#define OP_PROCESS_TARGET_TASK_REGION_H

#include "process/target/task/task.h"

/* One shared mapping: guard page, stack, this struct, data. */
struct op_task_region {
	struct op_task_region *next; /* list of tasks that hang */
	void *base;
	size_t bytes;
	int sock; /* our end */
	int far;  /* the task's end, as its descriptor number */
	int pidfd;
	int pid;
	op_task_fn fn;
	int result;
	uintptr_t code; /* an address in the library's code */
	/* thread-local area of the thread that made it: the kernel writes to
	 * it (rseq(2)) */
	uintptr_t thread;
	uintptr_t shadow;  /* that thread's shadow stack, or 0 */
	uint64_t spent_ns; /* how long the last call waited */
	uint8_t data[] __attribute__((aligned(64)));
};

/* Where a task starts, on its own stack. */
void op_task_main(struct op_task_region *r) __attribute__((noreturn));

#endif
