/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that end by known signals in known places. */
#ifndef TEST_VICTIM_H
#define TEST_VICTIM_H

#include <sys/types.h>

enum victim {
	VICTIM_SEGV,  /* in dies_of_segv(), which writes to VICTIM_ADDRESS */
	VICTIM_ABORT, /* in dies_of_abort() */
	VICTIM_KILL,  /* in waits_for_kill(), in each of VICTIM_THREADS threads */
	VICTIM_TERM,  /* the same, by SIGTERM */
	VICTIMS,
	/* These end by no signal. */
	VICTIM_EXIT = VICTIMS, /* exit(), while threads wait */
	VICTIM_HANDLED,	       /* a handler takes the signal */
	VICTIM_IGNORED,	       /* SIGCHLD, which does nothing */
	VICTIM_MODES,
};

enum {
	VICTIM_THREADS = 4,
	VICTIM_ADDRESS = 0x1230,
};

/* Run a new process of this program's file until it is gone. Returns how waitpid(2) says it
 * ended. */
int victim_run(enum victim mode);

#endif
