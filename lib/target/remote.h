/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a live process, by process_vm_readv(2). */
#ifndef OP_TARGET_REMOTE_H
#define OP_TARGET_REMOTE_H

#include <stdbool.h>

#include "base/memory.h"

struct op_remote {
	struct op_memory memory;
	int pid;
	bool gone; /* ended or another program by now: nothing can be read any more */
};

void op_remote_init(struct op_remote *m, int pid);

#endif
