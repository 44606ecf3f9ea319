/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of a process what rules ask for: its executable's path and its environment. */
#ifndef OP_PARTS_RULES_MATCH_INPUT_H
#define OP_PARTS_RULES_MATCH_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/resource/identity.h"

struct op_target;

struct op_match_input {
	struct op_stat stat;
	char *path; /* of its executable, as it sees it in its root */
	char *environ;
	size_t environ_len;
	int environ_error; /* why that is not there: -EAGAIN, for now; or another -errno */
};

/*
 * Read the executable of process @pid and, with @environ, its environment, both of one
 * program. Returns 0; -ESRCH if there is no such process; -ENOENT for one without a program
 * (a kernel thread); -EAGAIN if it executed meanwhile; or -errno.
 */
int op_match_input_read(struct op_match_input *reading, struct op_target *target,
			const char *procfs_root, uint32_t pid, bool environ);
void op_match_input_deinit(struct op_match_input *reading);

#endif
