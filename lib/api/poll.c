/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof_poll(), otelprof_wakeup(), and the worker thread of config.threads = 1. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "api/handle.h"
#include "base/io.h"
#include "base/macros.h"
#include "export/sink/thread.h"

enum {
	WORKER_PAUSE_MS = 100,
	/* longest wait of a change of the rate for an empty ring */
	WANTED_NS = 500000000,
};

/* Returns whether the eventfd was written to, and resets it. */
static bool take_event(int fd)
{
	uint64_t n;

	return read(fd, &n, sizeof(n)) == (ssize_t)sizeof(n);
}

static void put_event(int fd)
{
	const uint64_t one = 1;

	/* it can only fail if the eventfd is readable already */
	(void)!write(fd, &one, sizeof(one));
}

/* Wait for two descriptors. Returns 1 if one is readable, 0 if the time was up, or
 * -errno. */
static int wait_for(int a, int b, int timeout_ms)
{
	struct pollfd fds[2] = { { .fd = a, .events = POLLIN },
				 { .fd = b, .events = POLLIN } };
	int r = poll(fds, 2, timeout_ms);

	return r < 0 ? -errno : r > 0;
}

/* Change the rate if the budget demands it. Records in the ring have the old period, so
 * wait until the ring is empty, but no longer than WANTED_NS. In a pause the rate
 * stays, and work that waits for CPU time gets it. */
static void keep_budget(struct otelprof *p, bool drained)
{
	uint64_t now = op_clock_monotonic_ns();
	uint64_t worked;
	uint64_t used;
	uint64_t lost;

	if (!p->running || !p->config.cpu_budget_permille)
		return;
	if (!p->budget.wanted_hz || p->paused) {
		uint32_t hz = p->rate_hz;

		if (now < p->budget.checked_ns + OP_BUDGET_CHECK_NS ||
		    op_handle_cpu_ns(p, &used, &lost) < 0)
			return;
		op_budget_report_lost(&p->budget, now, lost);
		worked = p->allowance.cpu_used_ns;
		if (p->paused)
			(void)op_budget_count(&p->budget, now, used, worked);
		else
			hz = op_budget_rate(&p->budget, now, used, worked, p->rate_hz);
		op_allowance_give_cpu(&p->allowance, op_budget_left_ns(&p->budget));
		if (hz == p->rate_hz)
			return;
		p->budget.wanted_hz = hz;
		p->budget.wanted_ns = now;
	}
	if (!drained && now < p->budget.wanted_ns + WANTED_NS)
		return;
	op_log(&p->log, OP_LOG_INFO,
	       "the rate is %u now and was %u: the profiler uses %.1f %% of one core, and "
	       "the budget is %.1f %%",
	       p->budget.wanted_hz, p->rate_hz,
	       100 * (p->budget.work + p->budget.slow * p->rate_hz / p->budget.wanted_hz),
	       100 * p->budget.share);
	/* if it fails, the log says why, and the next check tries again */
	(void)op_handle_keep_rate(p, p->budget.wanted_hz);
	p->budget.wanted_hz = 0;
}

/* The CPU time of this thread, if it is counted. */
static uint64_t thread_ns(const struct otelprof *p)
{
	return p->config.cpu_budget_permille ? op_clock_thread_ns() : 0;
}

/* Returns 1 if there was work, 0 if not, or -errno. -EAGAIN: the clocks got a new
 * period, and nothing else was looked at. *@ret_woken: otelprof_wakeup() was called.
 * @since_ns: this thread's CPU time when it began to wait, which the budget counts from
 * there; 0: no budget. */
static int work(struct otelprof *p, uint64_t since_ns, bool *ret_woken)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	struct op_session_work done;
	bool worked;
	int r = op_handle_enter(p, &held);

	if (r < 0)
		return r;
	if (since_ns)
		p->budget.own_ns += p->budget.entered_ns - since_ns;
	if (op_capture_ticked(p->capture))
		return -EAGAIN;
	r = op_session_poll(p->session, &done);
	if (r == 0) {
		op_handle_expire_rules(p);
		keep_budget(p, done.drained);
		op_limit_keep(p);
	}
	/* The work of a whole poll, even without a record. After the last sample no
	 * record waits for it. */
	worked = p->running &&
		 op_allowance_has_worked(&p->allowance, op_allowance_now(&p->allowance));
	op_allowance_end_poll(&p->allowance);
	/* if a worker runs, the event is for the thread that waits in otelprof_poll() */
	*ret_woken = !p->config.threads && take_event(p->waits.wake_fd);
	return r < 0 ? r : !done.idle || worked;
}

/* The worker does the work. Wait only for its errors and for otelprof_wakeup(). */
static int watch_worker(struct otelprof *p, int timeout_ms)
{
	int r = wait_for(p->waits.wake_fd, -1, timeout_ms);

	if (r <= 0)
		return r;
	(void)take_event(p->waits.wake_fd);
	return __atomic_exchange_n(&p->waits.worker_error, 0, __ATOMIC_RELAXED);
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
		uint64_t since_ns = thread_ns(p);
		bool woken = false;
		uint64_t waited_ms;

		r = wait_for(op_capture_fd(p->capture), p->waits.wake_fd, left);
		if (r >= 0)
			r = work(p, since_ns, &woken);
		if (r != -EAGAIN && (r || woken))
			return r;
		if (timeout_ms < 0)
			continue;
		/* the timer fired, but there was no work: wait again */
		waited_ms = (op_clock_monotonic_ns() - start) / OP_NS_PER_MS;
		if (waited_ms < (uint64_t)timeout_ms)
			left = timeout_ms - (int)waited_ms;
		else if (r == -EAGAIN)
			left = 0;
		else
			return 0;
	}
}

int otelprof_wakeup(struct otelprof *p)
{
	/* signal handlers may call this: it takes no lock, and leaves no sentence */
	if (!p)
		return -EINVAL;
	/* the parent uses the descriptor, too */
	if (!op_maker_is_here(&p->maker))
		return -OTELPROF_E_FORKED;
	put_event(p->waits.wake_fd);
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
		return p->waits.wake_fd;
	fd = op_capture_fd(p->capture);
	event.data.fd = p->waits.wake_fd;
	if (epoll_ctl(fd, EPOLL_CTL_ADD, p->waits.wake_fd, &event) < 0 && errno != EEXIST)
		return op_fail(&p->log, -errno, "otelprof_get_fd: %s", strerror(errno));
	return fd;
}

static void *worker_main(void *arg)
{
	struct otelprof *p = arg;
	bool woken;
	int r = 0;

	while (!take_event(p->waits.quit_fd)) {
		uint64_t since_ns = thread_ns(p);

		r = wait_for(op_capture_fd(p->capture), p->waits.quit_fd, -1);
		if (r >= 0)
			r = work(p, since_ns, &woken);
		if (r >= 0 || r == -EINTR || r == -EAGAIN)
			continue;
		__atomic_store_n(&p->waits.worker_error, r, __ATOMIC_RELAXED);
		put_event(p->waits.wake_fd);
		/* an error may come again at once, so wait between attempts */
		(void)wait_for(p->waits.quit_fd, -1, WORKER_PAUSE_MS);
	}
	return NULL;
}

int op_worker_start(struct otelprof *p)
{
	int r = op_sink_thread_start(&p->waits.worker, "otelprof-work", worker_main, p);

	p->waits.worker_runs = r == 0;
	return r;
}

int op_worker_stop(struct otelprof *p)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	bool runs;
	int r = op_handle_enter(p, &held);

	if (r < 0)
		return r;
	runs = p->waits.worker_runs;
	p->waits.worker_runs = false;
	op_handle_leavep(&held);
	held = NULL;
	if (!runs)
		return 0;
	put_event(p->waits.quit_fd);
	return -pthread_join(p->waits.worker, NULL);
}
