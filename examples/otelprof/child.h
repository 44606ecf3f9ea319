/* SPDX-License-Identifier: Apache-2.0 */
/* The command that `record` runs: forked at once, let go when sampling has begun. */
#ifndef OTELPROF_CHILD_H
#define OTELPROF_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int gate; /* the child waits until a byte comes here */
	bool released;
	bool ended;
	bool terminated; /* by us */
	int status;	 /* of waitpid() */
};

#define CHILD_NONE                                                                       \
	{                                                                                \
		.pid = -1, .gate = -1                                                    \
	}

int child_fork(struct child *c, char **argv);
/* Let it exec. Returns 0 or STATUS_FAILED, said. */
int child_go(struct child *c);
bool child_ended(struct child *c);
/* End it where it still runs, and wait. Returns the status of `record`: the child's where
 * it is not 0, else @status. */
int child_finish(struct child *c, int status);

#endif
