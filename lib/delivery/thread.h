/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of exporters, and waits with a deadline of CLOCK_MONOTONIC. */
#ifndef OP_DELIVERY_THREAD_H
#define OP_DELIVERY_THREAD_H

#include <pthread.h>
#include <stdint.h>

enum {
	OP_THREAD_NS_PER_MS = 1000000,
	OP_THREAD_NS_PER_S = 1000000000,
};

/* The host's signals are the host's: the thread blocks all of them. 0 or -errno. */
int op_thread_start(pthread_t *ret, const char *name, void *(*fn)(void *), void *arg);

/* A condition for op_thread_wait(). 0 or -errno. */
int op_thread_cond_init(pthread_cond_t *cond);

/* @deadline_ns UINT64_MAX: none. Returns 0 or ETIMEDOUT, as pthread_cond_timedwait(3). */
int op_thread_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns);

#endif
