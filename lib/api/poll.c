/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting and working: otelprof_poll(), otelprof_wakeup(), and the worker of threads = 1. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "api/handle.h"
#include "base/io.h"
#include "delivery/thread.h"

enum {
	NS_A_MS = 1000000,
	WORKER_PAUSE_MS = 100,
	DRAIN_POLLS_MAX = 1024, /* a stop polls at most so often until nothing is left */
};

static int poll_once(struct otelprof *p, struct op_capture_work *ret)
{
	struct op_capture_work work = { 0 };
	int r = op_capture_poll(p->capture, p->processes, p->sampler, p->window, 0,
				&work);

	op_heap_poll(p->heap);
	if (work.kernel_symbols)
		op_kernel_symbols_stale(p->kernel);
	p->records += work.records;
	p->dropped[OP_DROP_RECORD] += work.dropped_record;
	p->dropped[OP_DROP_WINDOW] += work.dropped_window;
	p->dropped[OP_DROP_MEMORY] += work.dropped_memory;
	*ret = work;
	return r;
}

int op_handle_drain(struct otelprof *p)
{
	int i;

	for (i = 0; i < DRAIN_POLLS_MAX; i++) {
		struct op_capture_work work;
		int r = poll_once(p, &work);

		if (r < 0 && r != -EINTR)
			return r;
		if (work.idle)
			break;
	}
	return 0;
}

/* Was it written to? It is not any more then. */
static bool take_event(int fd)
{
	uint64_t n;

	return read(fd, &n, sizeof(n)) == (ssize_t)sizeof(n);
}

static void put_event(int fd)
{
	const uint64_t one = 1;

	/* fails only where it is readable already */
	(void)!write(fd, &one, sizeof(one));
}

/* Returns 1 where one of two descriptors is readable, 0 where the time was over, or -errno. */
static int wait_for(int a, int b, int timeout_ms)
{
	struct pollfd fds[2] = { { .fd = a, .events = POLLIN },
				 { .fd = b, .events = POLLIN } };
	int r = poll(fds, 2, timeout_ms);

	return r < 0 ? -errno : r > 0;
}

/* 1: worked; 0: nothing to do; *@ret_woken: otelprof_wakeup() was called. */
static int work(struct otelprof *p, bool *ret_woken)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	struct op_capture_work done;
	int r = op_handle_enter(p, &held);

	if (r < 0)
		return r;
	r = poll_once(p, &done);
	/* with a worker that is for who waits in otelprof_poll() */
	*ret_woken = !p->config.threads && take_event(p->wake_fd);
	return r < 0 ? r : !done.idle;
}

/* The worker works; here are only its news. */
static int watch_worker(struct otelprof *p, int timeout_ms)
{
	int r = wait_for(p->wake_fd, -1, timeout_ms);

	if (r <= 0)
		return r;
	(void)take_event(p->wake_fd);
	return __atomic_exchange_n(&p->worker_error, 0, __ATOMIC_RELAXED);
}

int otelprof_poll(struct otelprof *p, int timeout_ms)
{
	uint64_t start = op_clock_monotonic_ns();
	int left = timeout_ms;
	int r = op_handle_check(p);

	if (r < 0)
		return r;
	if (p->config.threads)
		return watch_worker(p, timeout_ms);
	for (;;) {
		bool woken = false;
		uint64_t waited_ms;

		r = wait_for(op_capture_fd(p->capture), p->wake_fd, left);
		if (r >= 0)
			r = work(p, &woken);
		if (r || woken)
			return r;
		if (timeout_ms < 0)
			continue;
		/* a timer of ours woke us with nothing to do: go on waiting */
		waited_ms = (op_clock_monotonic_ns() - start) / NS_A_MS;
		if (waited_ms >= (uint64_t)timeout_ms)
			return 0;
		left = timeout_ms - (int)waited_ms;
	}
}

int otelprof_wakeup(struct otelprof *p)
{
	/* no more than this: it may be called by a signal handler */
	if (!p)
		return -EINVAL;
	put_event(p->wake_fd);
	return 0;
}

int otelprof_get_fd(struct otelprof *p)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	struct epoll_event event = { .events = EPOLLIN };
	int r = op_handle_enter(p, &held);
	int fd;

	if (r < 0)
		return r;
	if (p->config.threads)
		return p->wake_fd;
	fd = op_capture_fd(p->capture);
	event.data.fd = p->wake_fd;
	if (epoll_ctl(fd, EPOLL_CTL_ADD, p->wake_fd, &event) < 0 && errno != EEXIST)
		return op_fail(&p->log, -errno, "otelprof_get_fd: %s", strerror(errno));
	return fd;
}

static void *worker_main(void *arg)
{
	struct otelprof *p = arg;
	bool woken;
	int r = 0;

	while (!take_event(p->quit_fd)) {
		r = wait_for(op_capture_fd(p->capture), p->quit_fd, -1);
		if (r >= 0)
			r = work(p, &woken);
		if (r >= 0 || r == -EINTR)
			continue;
		__atomic_store_n(&p->worker_error, r, __ATOMIC_RELAXED);
		put_event(p->wake_fd);
		/* what failed may fail again at once: not faster than this */
		(void)wait_for(p->quit_fd, -1, WORKER_PAUSE_MS);
	}
	return NULL;
}

int op_worker_start(struct otelprof *p)
{
	int r = op_thread_start(&p->worker, "otelprof-work", worker_main, p);

	p->worker_runs = r == 0;
	return r;
}

int op_worker_stop(struct otelprof *p)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	bool runs;
	int r = op_handle_enter(p, &held);

	if (r < 0)
		return r;
	runs = p->worker_runs;
	p->worker_runs = false;
	op_handle_leavep(&held);
	held = NULL;
	if (!runs)
		return 0;
	put_event(p->quit_fd);
	return -pthread_join(p->worker, NULL);
}
