/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends threads, all signals blocked in them, and waits on the monotonic clock. */
#include "export/sink/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"

enum {
	LOOK_MS = 250, /* between two checks of the CPU time of a thread */
};

int op_sink_thread_start(pthread_t *ret, const char *name, void *(*fn)(void *), void *arg)
{
	_cleanup_signals_ sigset_t before = op_signals_block();
	int r = pthread_create(ret, NULL, fn, arg);

	if (r)
		return -r;
	(void)pthread_setname_np(*ret, name);
	return 0;
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / OP_NS_PER_S),
		.tv_nsec = (long)(ns % OP_NS_PER_S),
	};
}

/* Its CPU time, or 0 if it has just ended. */
static uint64_t cpu_of(pthread_t thread)
{
	struct timespec ts = { 0 };
	clockid_t clock;

	if (pthread_getcpuclockid(thread, &clock) || clock_gettime(clock, &ts) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * OP_NS_PER_S + (uint64_t)ts.tv_nsec;
}

int op_sink_thread_end(pthread_t thread)
{
	uint64_t now = op_clock_monotonic_ns();
	uint64_t end = now + (uint64_t)OP_SINK_THREAD_END_MS * OP_NS_PER_MS;
	uint64_t moved = now;
	uint64_t seen = 0;
	uint64_t cpu;

	do {
		struct timespec ts = to_timespec(now + (uint64_t)LOOK_MS * OP_NS_PER_MS);

		if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &ts) != ETIMEDOUT)
			return 0;
		now = op_clock_monotonic_ns();
		cpu = cpu_of(thread);
		moved = cpu != seen ? now : moved;
		seen = cpu;
	} while (now < end &&
		 now - moved < (uint64_t)OP_SINK_THREAD_STUCK_MS * OP_NS_PER_MS);
	(void)pthread_detach(thread);
	return -ETIMEDOUT;
}

enum call_state {
	CALL_RUNS,
	CALL_DONE,
	CALL_LEFT, /* nobody waits for it any longer */
};

struct call {
	void (*fn)(void *arg);
	void (*drop)(void *arg);
	void *arg;
	enum call_state state;
};

static void *call_main(void *arg)
{
	struct call *c = arg;

	c->fn(c->arg);
	if (__atomic_exchange_n(&c->state, CALL_DONE, __ATOMIC_ACQ_REL) == CALL_LEFT) {
		c->drop(c->arg);
		free(c);
	}
	return NULL;
}

int op_sink_thread_call(void (*fn)(void *arg), void (*drop)(void *arg), void *arg)
{
	_cleanup_free_ struct call *c = malloc(sizeof(*c));
	pthread_t thread;
	int r;

	if (!c)
		return -ENOMEM;
	*c = (struct call){ .fn = fn, .drop = drop, .arg = arg };
	r = op_sink_thread_start(&thread, "otelprof-open", call_main, c);
	if (r < 0)
		return r;
	/* It may have returned just now. */
	if (op_sink_thread_end(thread) < 0 &&
	    __atomic_exchange_n(&c->state, CALL_LEFT, __ATOMIC_ACQ_REL) == CALL_RUNS) {
		(void)OP_TAKE_PTR(c);
		return -ETIMEDOUT;
	}
	return 0;
}

/* On Linux these calls allocate nothing, so none of them fails or must be undone. */
int op_sink_thread_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int r;

	r = pthread_condattr_init(&attr);
	if (r)
		return -r;
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	r = pthread_cond_init(cond, &attr);
	(void)pthread_condattr_destroy(&attr);
	return -r;
}

int op_sink_thread_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns)
{
	struct timespec ts = to_timespec(deadline_ns);

	if (deadline_ns == UINT64_MAX)
		return pthread_cond_wait(cond, lock);
	return pthread_cond_timedwait(cond, lock, &ts);
}
