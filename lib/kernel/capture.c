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
	/* returned by the record callback: this poll has done enough */
	RING_STOP = -ECANCELED,
	EPOLL_EVENTS = 16,
};

/*
 * A poll's shares. It gives a quarter each to side-bands, to records from the ring, to postponed
 * records, and to processes. Work that cannot be interrupted, such as reading the names of a large program,
 * may take some 10 ms more; when half of the time is over, the rest of the work is left to the
 * next poll.
 */
enum {
	SLICE_PARTS = 4,
	LONG_PARTS = 2,
};

/* What the record callback works with during one consumption. */
struct consume {
	struct op_processes *processes;
	struct op_sampler *sampler;
	struct op_window *window;
	struct op_capture_work *work;
	const struct op_turn *turn;
	uint64_t left;
	uint64_t until_ns;
	bool unknown; /* there was a record of a process or mapping without tables */
};

/* Has this poll done enough? The clock is read after each record, since one may take
 * long. */
static int is_enough(struct consume *k)
{
	return --k->left && op_clock_monotonic_ns() < k->until_ns ? 0 : RING_STOP;
}

static void count(struct consume *k, uint32_t type, int r)
{
	if (!op_sampler_is_sample(type))
		return;
	k->work->records++;
	if (r == -ENOSPC)
		k->work->dropped_window++;
	else if (r == -ENOMEM)
		k->work->dropped_memory++;
	else if (r < 0)
		k->work->dropped_record++;
}

/* May the record be postponed until there is time for a table or for names? If so,
 * *@ret_pid is its process and *@ret_time_ns its time. */
static bool may_wait(const void *data, size_t size, uint32_t *ret_pid,
		     uint64_t *ret_time_ns)
{
	const struct op_unwind_table_request *request = data;
	const struct op_record *record = data;

	if (size >= sizeof(*record) && record->header.type == OP_RECORD_SAMPLE) {
		*ret_pid = record->pid;
		*ret_time_ns = record->time_ns;
		return true;
	}
	if (size < sizeof(*request) || request->header.type != OP_RECORD_REQUEST)
		return false;
	*ret_pid = request->pid;
	*ret_time_ns = request->time_ns;
	return true;
}

/* Does the record lack a table, as postponed records of the same process may, too? */
static bool wants_table(const void *data)
{
	const struct op_record *record = data;

	return record->header.type == OP_RECORD_REQUEST || record->end == OP_END_UNKNOWN;
}

static int postpone(struct op_capture *c, uint32_t pid, uint64_t time_ns,
		    const void *data, size_t size)
{
	_cleanup_free_ void *joined = NULL;
	size_t joined_len;

	if (op_sampler_join(c->consume->sampler, data, size, &joined, &joined_len) > 0)
		return op_postponed_add(&c->postponed, pid, time_ns, joined, joined_len);
	return op_postponed_add(&c->postponed, pid, time_ns, data, size);
}

/* Add the record to the window, or postpone it until there is time for what it needs. If
 * it cannot be postponed, it is processed at once. */
static void take(struct op_capture *c, const void *data, size_t size, uint32_t type)
{
	struct consume *k = c->consume;
	uint64_t time_ns = 0;
	uint32_t pid = 0;
	bool waits = may_wait(data, size, &pid, &time_ns);
	int r = -EINPROGRESS;

	if (!waits || !wants_table(data) || !op_postponed_has(&c->postponed, pid))
		r = op_sampler_add_record(k->sampler, data, size, k->window);
	if (waits && r == -EINPROGRESS && postpone(c, pid, time_ns, data, size) == 0)
		return;
	if (r == -EINPROGRESS) {
		op_sampler_hurry(k->sampler, true);
		r = op_sampler_add_record(k->sampler, data, size, k->window);
		op_sampler_hurry(k->sampler, false);
	}
	count(k, type, r);
}

/* Each process with postponed records gets a part of the slice, in turn. */
static void take_postponed(struct op_capture *c, struct consume *k)
{
	struct op_postponed *q = &c->postponed;
	size_t turns = q->len;
	uint64_t part_ns =
		OP_MAX(op_turn_share(k->turn, SLICE_PARTS) / OP_MAX(turns, (size_t)1),
		       /* of one process at least */
		       op_turn_share(k->turn, OP_TURN_LEAST));
	uint64_t now_ns = op_clock_monotonic_ns();

	for (; turns && now_ns < k->until_ns; turns--) {
		struct op_waiter *w = op_postponed_turn(q);
		uint64_t until_ns = OP_MIN(now_ns + part_ns, k->until_ns);
		bool more = true;

		op_processes_slice(k->processes, until_ns);
		while (more && now_ns < until_ns) {
			size_t len;
			const struct op_record_header *record = op_waiter_record(w, &len);
			int r = op_sampler_add_record(k->sampler, record, len, k->window);

			now_ns = op_clock_monotonic_ns();
			if (r == -EINPROGRESS)
				break;
			count(k, record->type, r);
			more = op_waiter_drop(q, w);
		}
		if (more)
			op_waiter_yield(q, w);
	}
}

void op_capture_take_postponed(struct op_capture *c, struct op_processes *processes,
			       struct op_sampler *sampler, struct op_window *window,
			       struct op_capture_work *work)
{
	struct consume k = { .work = work };
	struct op_waiter *w;

	/* nothing that may stop is begun */
	op_processes_slice(processes, op_clock_monotonic_ns());
	op_sampler_hurry(sampler, true);
	while ((w = op_postponed_turn(&c->postponed))) {
		size_t len;
		const struct op_record_header *record = op_waiter_record(w, &len);

		count(&k, record->type,
		      op_sampler_add_record(sampler, record, len, window));
		(void)op_waiter_drop(&c->postponed, w);
	}
	op_sampler_hurry(sampler, false);
	op_processes_slice(processes, 0);
}

/* Drain the side-bands while a record is processed, which is newer than they. */
static uint64_t catch_up(struct op_capture *c, struct consume *k)
{
	uint64_t least_ns = op_turn_share(k->turn, OP_TURN_LEAST);

	return op_sideband_drain(c, k->processes,
				 OP_MAX(k->until_ns, op_clock_monotonic_ns() + least_ns));
}

/* Its side-band events are there, too, so that the program can be identified now. */
static void on_exec(struct op_capture *c, const void *data, size_t size)
{
	struct op_processes *processes = c->consume->processes;
	const struct op_exec_record *record = data;
	uint64_t now_ns = op_clock_monotonic_ns();

	if (size < sizeof(*record))
		return;
	if (record->interpreter)
		c->exec_ns = now_ns;
	if (catch_up(c, c->consume))
		op_processes_settle(processes, now_ns);
	op_processes_on_executed(processes, record->pid);
}

static int on_ring_record(void *ctx, const void *data, size_t size)
{
	struct op_capture *c = ctx;
	struct consume *k = c->consume;
	const struct op_record *record = data;
	uint32_t type = size >= sizeof(record->header) ? record->header.type : 0;

	if (type == OP_RECORD_EXEC) {
		on_exec(c, data, size);
		return is_enough(k);
	}
	/* Side-band events of this process may have come after the side-band was last
	 * read. */
	if (type == OP_RECORD_REQUEST ||
	    (type == OP_RECORD_SAMPLE && size >= sizeof(*record) &&
	     (record->end == OP_END_UNKNOWN ||
	      !op_processes_knows(k->processes, record->pid, record->generation)))) {
		k->unknown |= type == OP_RECORD_REQUEST || record->end == OP_END_UNKNOWN;
		if (record->time_ns > c->drained_ns && catch_up(c, k))
			op_processes_settle(k->processes, op_clock_monotonic_ns());
	}
	take(c, data, size, type);
	return is_enough(k);
}

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
	r = set_timer(c, OP_TIMER_MS);
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
	op_postponed_init(&c->postponed);
	c->types_fd = c->epoll_fd = c->timer_fd = c->online_fd = -1;
	c->exec_fd = c->exec_program = -1;
	c->fork_fd = c->fork_program = -1;
	memset(c->map, 0xff, sizeof(c->map)); /* sets each to -1 */
	memset(c->program, 0xff, sizeof(c->program));
	memset(c->hook, 0xff, sizeof(c->hook));
	memset(c->begun, 0xff, sizeof(c->begun));
	c->config = *config;
	c->config.kinds = op_kinds_with(config->kinds);
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
	op_closep(&c->online_fd);
	op_closep(&c->timer_fd);
	op_closep(&c->epoll_fd);
	op_loader_close(c);
	op_endings_deinit(&c->ends);
	op_postponed_deinit(&c->postponed);
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
	return op_perf_set_rate(c, sample_rate_hz);
}

uint64_t op_capture_events_lost(const struct op_capture *c)
{
	return c->events_lost;
}

void op_capture_forked(struct op_capture *c)
{
	c->forked = true;
}

/* Acknowledge the timer; follow CPUs that came and went. */
static void on_timer(struct op_capture *c, struct op_processes *processes,
		     uint64_t end_ns)
{
	uint64_t expirations;
	uint64_t now = op_clock_monotonic_ns();

	(void)!read(c->timer_fd, &expirations, sizeof(expirations));
	if (now - c->checked_cpus_ns >= (uint64_t)OP_CPUS_CHECK_MS * OP_NS_PER_MS &&
	    (c->listening || c->sampling) &&
	    op_perf_update_cpus(c, processes, end_ns) < 0) {
		op_log(c->log, OP_LOG_WARNING, "%s; the next check tries again",
		       c->log ? c->log->message : "");
		c->checked_cpus_ns = now;
	}
}

void op_capture_wake_at(struct op_capture *c, uint64_t time_ns)
{
	c->wake_ns = time_ns;
}

void op_capture_wake_before(struct op_capture *c, uint64_t time_ns)
{
	uint64_t now = op_clock_monotonic_ns();
	uint64_t ms = time_ns > now ? (time_ns - now) / OP_NS_PER_MS + 1 : 1;

	/* if the timer cannot be set, the old interval stays */
	if (ms < c->timer_ms)
		(void)set_timer(c, (uint32_t)ms);
}

/*
 * Set the timer: soon if something was new (@fresh), and not later than @next_ns (0: no such
 * time). Work that is left is done at once if this poll had no time for it. If it waits for
 * something else, a host must not turn on it. If the timer cannot be set, the old interval stays.
 */
static void pace(struct op_capture *c, bool fresh, uint64_t next_ns,
		 const struct op_turn *turn)
{
	uint64_t now = op_clock_monotonic_ns();
	uint64_t ms;

	if (fresh)
		c->news_ns = now;
	ms = now - c->news_ns < (uint64_t)OP_QUIET_AFTER_MS * OP_NS_PER_MS
		     ? OP_TIMER_MS
		     : OP_TIMER_QUIET_MS;
	if (now - c->exec_ns < (uint64_t)OP_EXEC_FOR_MS * OP_NS_PER_MS)
		ms = OP_TIMER_EXEC_MS;
	if (c->wake_ns && (!next_ns || c->wake_ns < next_ns))
		next_ns = c->wake_ns;
	if (next_ns && next_ns <= now && op_turn_is_used(turn, now))
		ms = 0;
	else if (next_ns)
		ms = OP_MIN(ms, next_ns > now ? (next_ns - now) / OP_NS_PER_MS + 1 : 1);
	(void)set_timer(c, (uint32_t)ms);
}

/* Take postponed records, then those of the ring. Returns 0, RING_STOP or -errno. */
static int take_records(struct op_capture *c, struct consume *k)
{
	uint64_t begin_ns = op_clock_monotonic_ns();
	int r;

	c->consume = k;
	k->until_ns = op_turn_part(k->turn, begin_ns, SLICE_PARTS);
	/* Most of them wait for a table. */
	if (!op_processes_postpone(k->processes))
		take_postponed(c, k);
	k->until_ns = OP_MIN(op_turn_part(k->turn, op_clock_monotonic_ns(), SLICE_PARTS),
			     op_turn_part(k->turn, begin_ns, LONG_PARTS));
	op_processes_slice(k->processes, k->until_ns);
	r = op_ring_consume(&c->ring, on_ring_record, c);
	c->consume = NULL;
	return r;
}

int op_capture_poll(struct op_capture *c, struct op_processes *processes,
		    struct op_sampler *sampler, struct op_window *window,
		    const struct op_turn *turn, struct op_capture_work *work)
{
	struct consume consume = { .processes = processes,
				   .sampler = sampler,
				   .window = window,
				   .work = work,
				   .turn = turn,
				   .left = OP_RECORDS_A_POLL };
	struct epoll_event events[EPOLL_EVENTS];
	uint64_t sideband;
	uint64_t begin_ns;
	uint64_t end_ns;
	int n = epoll_wait(c->epoll_fd, events, EPOLL_EVENTS, 0);
	uint64_t woken_ns = op_clock_monotonic_ns();
	bool waits;
	int i;

	if (n < 0)
		return -errno;
	end_ns = op_turn_part(turn, woken_ns, SLICE_PARTS);
	for (i = 0; i < n; i++)
		if (events[i].data.fd == c->timer_fd)
			on_timer(c, processes, end_ns);
	op_processes_slice(processes, end_ns);
	sideband = op_sideband_drain(c, processes, end_ns);
	if (sideband || n)
		op_processes_settle(processes, op_clock_monotonic_ns());
	op_hooks_poll(c);
	/* If this poll has already taken long, or processes have done more than it knows of, the
	 * records are left to the next one, which comes at once. */
	begin_ns = op_clock_monotonic_ns();
	waits = op_processes_postpone(processes);
	c->put_off = !c->put_off && (c->sideband_left ||
				     begin_ns > op_turn_part(turn, woken_ns, LONG_PARTS));
	n = c->put_off ? RING_STOP : take_records(c, &consume);
	op_processes_slice(processes, 0);
	if (op_sampler_take_lost(sampler))
		op_capture_next_window(c);
	if (n == 0)
		op_processes_records_read(processes,
					  c->postponed.len
						  ? op_postponed_oldest_ns(&c->postponed)
						  : begin_ns);
	pace(c,
	     op_sampler_take_new_code(sampler) || op_processes_waiting(processes) ||
		     sideband || consume.unknown,
	     c->sideband_left || (c->postponed.len && !waits)
		     ? begin_ns
		     : op_processes_next_ns(processes),
	     turn);
	work->kernel_symbols = c->kernel_symbols_stale;
	c->kernel_symbols_stale = false;
	work->more = n == RING_STOP || c->sideband_left || (c->postponed.len && !waits);
	work->drained = n == 0 && !c->postponed.len;
	if (work->drained)
		op_sampler_drained(sampler);
	work->idle = !sideband && !work->more && consume.left == OP_RECORDS_A_POLL;
	return n < 0 && n != RING_STOP ? n : 0;
}
