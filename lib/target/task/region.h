/* SPDX-License-Identifier: Apache-2.0 */
/* What a task (task.h) and the process that made it have in common. */
#ifndef OP_TARGET_TASK_REGION_H
#define OP_TARGET_TASK_REGION_H

#include "target/task/task.h"

/* One mapping that both have: guard, stack, this, data. */
struct op_task_region {
	struct op_task_region *next; /* of the stuck ones */
	void *base;
	size_t bytes;
	int sock; /* ours */
	int far;  /* the task's end, by its number there */
	int pidfd;
	int pid;
	op_task_fn fn;
	int result;
	uintptr_t code;	  /* somewhere in the code */
	uintptr_t thread; /* the thread-local area of who made it: the kernel's rseq(2) */
	uintptr_t shadow; /* its shadow stack, or 0 */
	uint64_t spent_ns; /* that the last call waited */
	uint8_t data[] __attribute__((aligned(64)));
};

/* Where a task begins, on its own stack. */
void op_task_main(struct op_task_region *r) __attribute__((noreturn));

#endif
