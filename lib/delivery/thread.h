/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of exporters, and waits with a deadline on CLOCK_MONOTONIC. */
#ifndef OP_DELIVERY_THREAD_H
#define OP_DELIVERY_THREAD_H

#include <pthread.h>
#include <stdint.h>

enum {
	OP_THREAD_NS_PER_MS = 1000000,
	OP_THREAD_NS_PER_S = 1000000000,
};

/* Start a thread that blocks all signals, because they are for the host program's
 * threads. Returns 0 or -errno. */
int op_thread_start(pthread_t *ret, const char *name, void *(*fn)(void *), void *arg);

/* Initialise a condition for op_thread_wait(). Returns 0 or -errno. */
int op_thread_cond_init(pthread_cond_t *cond);

/* Wait until @deadline_ns; UINT64_MAX: no deadline. Returns 0 or ETIMEDOUT, like
 * pthread_cond_timedwait(3). */
int op_thread_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns);

#endif
