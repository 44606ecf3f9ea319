/* SPDX-License-Identifier: Apache-2.0 */
/* Starts threads with all signals blocked, and waits on the monotonic clock. */
#include "delivery/thread.h"

#include <signal.h>
#include <time.h>

int op_thread_start(pthread_t *ret, const char *name, void *(*fn)(void *), void *arg)
{
	sigset_t all;
	sigset_t old;
	int err;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(ret, NULL, fn, arg);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return -err;
	(void)pthread_setname_np(*ret, name);
	return 0;
}

/* On Linux these calls allocate nothing, so none of them fails or must be undone. */
int op_thread_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int err;

	err = pthread_condattr_init(&attr);
	if (err)
		return -err;
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	err = pthread_cond_init(cond, &attr);
	(void)pthread_condattr_destroy(&attr);
	return -err;
}

int op_thread_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(deadline_ns / OP_THREAD_NS_PER_S),
		.tv_nsec = (long)(deadline_ns % OP_THREAD_NS_PER_S),
	};

	if (deadline_ns == UINT64_MAX)
		return pthread_cond_wait(cond, lock);
	return pthread_cond_timedwait(cond, lock, &ts);
}
