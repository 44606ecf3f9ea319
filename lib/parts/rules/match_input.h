/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the inputs of rules from a process: its executable's path and its environment. */
#ifndef OP_PARTS_RULES_MATCH_INPUT_H
#define OP_PARTS_RULES_MATCH_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/resource/identity.h"

struct op_target;

struct op_match_input {
	struct op_stat stat;
	char *path; /* path of its executable, from its own root */
	char *environ;
	size_t environ_len;
	/* why there is no environment: -EAGAIN if it may be there later, or another
	 * -errno */
	int environ_error;
};

/*
 * Read the executable of process @pid, and with @environ its environment, both of one
 * program. Returns 0; -ESRCH if there is no such process; -ENOENT if it has no program
 * (a kernel thread); -EAGAIN if it called exec meanwhile; or -errno.
 */
int op_match_input_read(struct op_match_input *reading, struct op_target *target,
			const char *procfs_root, uint32_t pid, bool environ);
void op_match_input_deinit(struct op_match_input *reading);

#endif
