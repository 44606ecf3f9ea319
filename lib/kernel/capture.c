/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/capture.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/io.h"
#include "base/macros.h"
#include "kernel/state.h"

enum {
	EPOLL_EVENTS = 16,
	TIMER_MS = 200, /* until the caller sets another interval */
};

/* Have the timer fire every @ms. 0: at once, and then each millisecond. */
static int set_timer(struct op_capture *c, uint32_t ms)
{
	struct timespec span = { .tv_sec = ms / OP_MS_PER_S,
				 .tv_nsec = (long)(ms % OP_MS_PER_S) * OP_NS_PER_MS };
	struct itimerspec every = { .it_interval = span, .it_value = span };

	if (!ms) {
		every.it_interval.tv_nsec = OP_NS_PER_MS;
		every.it_value.tv_nsec = 1;
	}
	if ((!ms || ms != c->timer_ms) &&
	    timerfd_settime(c->timer_fd, 0, &every, NULL) < 0)
		return -errno;
	c->timer_ms = ms;
	return 0;
}

static int open_epoll(struct op_capture *c)
{
	struct epoll_event event = { .events = EPOLLIN };
	int r;

	c->epoll_fd = op_fd_move_up(epoll_create1(EPOLL_CLOEXEC));
	c->timer_fd = op_fd_move_up(
		timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
	if (c->epoll_fd < 0 || c->timer_fd < 0)
		return -EMFILE;
	event.data.fd = c->timer_fd;
	r = set_timer(c, TIMER_MS);
	if (r < 0)
		return r;
	if (epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->timer_fd, &event) < 0)
		return -errno;
	event.data.fd = c->map[OP_MAP_RING];
	if (epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, event.data.fd, &event) < 0)
		return -errno;
	return 0;
}

int op_capture_new(const struct op_capture_config *config, struct op_capture **ret)
{
	_cleanup_(op_capture_freep) struct op_capture *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->types_fd = c->epoll_fd = c->timer_fd = c->cpus.online_fd = -1;
	c->exec.fd = c->exec.program = -1;
	c->fork.fd = c->fork.program = -1;
	memset(c->map, 0xff, sizeof(c->map)); /* sets each to -1 */
	memset(c->kinds.program, 0xff, sizeof(c->kinds.program));
	memset(c->kinds.hook, 0xff, sizeof(c->kinds.hook));
	memset(c->kinds.begun, 0xff, sizeof(c->kinds.begun));
	c->config = *config;
	c->config.kinds = op_kinds_with(config->kinds, config->flags);
	c->log = config->log;
	c->rate_hz = config->sample_rate_hz;
	c->page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	r = op_loader_open(c);
	if (r < 0)
		return r;
	r = op_ring_open(&c->ring, c->map[OP_MAP_RING], op_capture_ring_bytes(c));
	if (r < 0)
		return op_fail(c->log, r, "the ring buffer cannot be mapped: %s",
			       strerror(-r));
	r = open_epoll(c);
	if (r < 0)
		return r;
	*ret = OP_TAKE_PTR(c);
	return 0;
}

struct op_capture *op_capture_free(struct op_capture *c)
{
	if (!c)
		return NULL;
	op_perf_close(c);
	op_ring_close(&c->ring);
	op_closep(&c->cpus.online_fd);
	if (c->cpus.uevents_fd > 0)
		op_closep(&c->cpus.uevents_fd);
	op_closep(&c->timer_fd);
	op_closep(&c->epoll_fd);
	op_loader_close(c);
	free(c);
	return NULL;
}

int op_capture_listen(struct op_capture *c)
{
	if (c->listening)
		return 0;
	op_loader_attach(c);
	return op_perf_listen(c);
}

int op_capture_start(struct op_capture *c)
{
	int r = op_perf_start(c);

	if (r < 0)
		return r;
	r = op_hooks_attach(c);
	if (r < 0)
		op_capture_stop(c);
	return r;
}

void op_capture_stop(struct op_capture *c)
{
	uint32_t i;

	op_perf_stop(c);
	for (i = 0; i < OP_KINDS; i++)
		op_hooks_detach(c, op_kinds()[i]);
}

bool op_capture_end_idle(struct op_capture *c)
{
	return op_hooks_end_window(c);
}

void op_capture_next_window(struct op_capture *c)
{
	__atomic_store_n(&c->control->window, c->control->window + 1, __ATOMIC_RELEASE);
}

int op_capture_fd(const struct op_capture *c)
{
	return c->epoll_fd;
}

int op_capture_set_rate(struct op_capture *c, uint32_t sample_rate_hz)
{
	return op_clocks_set_rate(c, sample_rate_hz);
}

uint64_t op_capture_events_lost(const struct op_capture *c)
{
	return c->sideband.lost;
}

void op_capture_forked(struct op_capture *c)
{
	c->forked = true;
}

/* Acknowledge the timer; follow CPUs that came and went. */
static void on_timer(struct op_capture *c, const struct op_sideband_sink *sink,
		     struct op_allowance *allowance)
{
	uint64_t expirations;
	uint64_t now = op_clock_monotonic_ns();

	(void)!read(c->timer_fd, &expirations, sizeof(expirations));
	if (now - c->cpus.checked_ns >= (uint64_t)OP_CPUS_CHECK_MS * OP_NS_PER_MS &&
	    (c->listening || c->sampling) &&
	    op_perf_update_cpus(c, sink, allowance) < 0) {
		op_log(c->log, OP_LOG_WARNING, "%s; the next check tries again",
		       c->log ? c->log->message : "");
		c->cpus.checked_ns = now;
	}
}

/* Set the timer to the earlier of two times: that of the caller's work, and that of the
 * clocks' new periods. */
static void arm(struct op_capture *c)
{
	uint64_t now = op_clock_monotonic_ns();
	uint64_t next_ns = op_clocks_next_ns(c);
	uint64_t time_ns = next_ns ? OP_MIN(next_ns, c->due_ns) : c->due_ns;

	/* if the timer cannot be set, the old interval stays */
	(void)set_timer(c, time_ns > now ? (uint32_t)((time_ns - now) / OP_NS_PER_MS) + 1
					 : 1);
}

void op_capture_wake_every(struct op_capture *c, uint32_t ms)
{
	c->due_ns = op_clock_monotonic_ns() + (uint64_t)ms * OP_NS_PER_MS;
	if (ms)
		arm(c);
	else
		(void)set_timer(c, 0);
}

void op_capture_wake_before(struct op_capture *c, uint64_t time_ns)
{
	if (time_ns >= c->due_ns)
		return;
	c->due_ns = time_ns;
	arm(c);
}

bool op_capture_ticked(struct op_capture *c)
{
	uint64_t now = op_clock_monotonic_ns();
	uint64_t next_ns = op_clocks_next_ns(c);

	if (!next_ns || now < next_ns || now >= c->due_ns)
		return false;
	op_clocks_poll(c);
	c->timer_ms = 0; /* the timer is set anew, which acknowledges it */
	arm(c);
	return true;
}

int op_capture_woken(struct op_capture *c, const struct op_sideband_sink *sink,
		     struct op_allowance *allowance)
{
	struct epoll_event events[EPOLL_EVENTS];
	int n = epoll_wait(c->epoll_fd, events, EPOLL_EVENTS, 0);
	int i;

	if (n < 0)
		return -errno;
	for (i = 0; i < n; i++)
		if (events[i].data.fd == c->timer_fd)
			on_timer(c, sink, allowance);
	op_hooks_poll(c);
	op_clocks_poll(c);
	return n;
}

bool op_capture_sideband_left(const struct op_capture *c)
{
	return c->sideband.left;
}

uint64_t op_capture_drained_ns(const void *capture)
{
	const struct op_capture *c = capture;

	return c->sideband.drained_ns;
}

int op_capture_drain_ring(struct op_capture *c, op_ring_fn fn, void *ctx)
{
	return op_ring_consume(&c->ring, fn, ctx);
}
