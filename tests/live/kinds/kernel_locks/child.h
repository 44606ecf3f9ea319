/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child whose waits for locks of the kernel are known. One thread writes a page that is
 * not there to a file, or to a pipe, and so holds the file's or the pipe's lock until another
 * thread gives it the page (userfaultfd(2)). Meanwhile a third one writes, too, and waits.
 */
#ifndef KERNEL_LOCKS_CHILD_H
#define KERNEL_LOCKS_CHILD_H

#include <stdbool.h>
#include <stdint.h>

enum {
	PLACES = 2, /* writes_file(), three times as long, and writes_pipe() */
	SPINNERS = 4,
};

struct request {
	int64_t waits; /* 0: threads spin for a second on one lock */
	int64_t hold_ns;
	bool late; /* who would wait comes when the lock has been given up */
};

struct answer {
	bool missing;	       /* there is no userfaultfd(2), or no tracepoint to count */
	int64_t count[PLACES]; /* at most */
	/* At least: the waiter slept. A lock that is given up before the waiter comes, or while
	 * it spins, is not waited for, or not in a way that the kernel tells. */
	int64_t slept[PLACES];
	int64_t off_ns[PLACES];	 /* at least */
	int64_t wall_ns[PLACES]; /* at most */
	int64_t spins;		 /* that the kernel counted */
};

void child_serve(int from, int to);

#endif
