/* SPDX-License-Identifier: Apache-2.0 */
/* The command that `record` runs: forked at once, and executed when sampling
 * has begun. */
#ifndef OTELPROF_CHILD_H
#define OTELPROF_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int gate; /* the child waits until it can read a byte here */
	bool released;
	bool ended;
	bool terminated; /* we sent it a signal */
	int status;	 /* from waitpid() */
};

#define CHILD_NONE                                                                       \
	{                                                                                \
		.pid = -1, .gate = -1                                                    \
	}

/* Under sudo, become the user who called it again, with all groups of that user. Returns 0, or
 * STATUS_FAILED after a message. */
int child_become_caller(void);
int child_fork(struct child *c, char **argv);
/* Let the child execute the command. Returns 0, or STATUS_FAILED after a message. */
int child_go(struct child *c);
bool child_ended(struct child *c);
/* Did the child end because it could not be executed? (A shell uses the same statuses.) */
bool child_cannot_run(const struct child *c);
/* End the child if it still runs, and wait for it. Returns the status of `record`: the
 * child's if it is not 0, else @status. */
int child_finish(struct child *c, int status);

/* Show the page in a browser of the caller. A failure prints a message. */
void child_open_page(const char *path);

#endif
