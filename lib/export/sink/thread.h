/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of exporters, and waits with a deadline on CLOCK_MONOTONIC. */
#ifndef OP_EXPORT_SINK_THREAD_H
#define OP_EXPORT_SINK_THREAD_H

#include <pthread.h>
#include <stdint.h>

enum {
	/* The longest wait for the end of a thread: without any CPU time, and in all. */
	OP_SINK_THREAD_STUCK_MS = 10000,
	OP_SINK_THREAD_END_MS = 60000,
};

/* Start a thread that blocks all signals, because they are for the host program's
 * threads. Returns 0 or -errno. */
int op_sink_thread_start(pthread_t *ret, const char *name, void *(*fn)(void *),
			 void *arg);

/*
 * Wait until @thread has ended, as pthread_join(3). A thread that is stuck in a system
 * call (OP_SINK_THREAD_STUCK_MS), or works too long (OP_SINK_THREAD_END_MS), is left
 * behind, so it must own everything that it uses. Returns 0 or -ETIMEDOUT.
 */
int op_sink_thread_end(pthread_t thread);

/*
 * Call @fn in a thread of its own, because a disk may not answer, and wait for it as
 * op_sink_thread_end() does. Returns 0 when it is done. Returns -ETIMEDOUT if it still
 * runs. Then @arg belongs to the thread, which calls @drop at its end. Returns -ENOMEM
 * or -EAGAIN if there is no thread.
 */
int op_sink_thread_call(void (*fn)(void *arg), void (*drop)(void *arg), void *arg);

/* Initialise a condition for op_sink_thread_wait(). Returns 0 or -errno. */
int op_sink_thread_cond_init(pthread_cond_t *cond);

/* Wait until @deadline_ns; UINT64_MAX: no deadline. Returns 0 or ETIMEDOUT, like
 * pthread_cond_timedwait(3). */
int op_sink_thread_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
			uint64_t deadline_ns);

#endif
