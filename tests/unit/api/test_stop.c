/* SPDX-License-Identifier: Apache-2.0 */
/* Records that wait for CPU time are neither lost at a stop nor left in a pause, and the
 * last window ends with sampling. The wall clock is no part of its length. The ring is a
 * file in memory, and the processes belong to a fake kernel. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../process/world.h"
#include "api/handle.h"
#include "base/io.h"
#include "kernel/state.h"
#include "process/image/image.h"
#include "session/state.h"
#include "test.h"

enum {
	RING_BYTES = 1 << 20,
	RECORDS = 3,
	BUDGET_PERMILLE = 10,
	POLLS = 100,
	POLL_NS = 20000000,
	LATE_NS = 5000000, /* from the stop to the export */
};

static const int64_t WALL_NS = INT64_C(1800000000000000000);
static const int64_t STEP_NS = INT64_C(3600000000000);

/* The wall clock has stepped by when a window ends. */
int64_t __wrap_op_clock_monotonic_offset_ns(void);
int64_t __wrap_op_clock_monotonic_offset_ns(void)
{
	return WALL_NS + STEP_NS;
}

struct host {
	struct world world;
	struct op_capture *capture;
	struct otelprof p;
};

int __wrap_op_capture_counters(struct op_capture *c, uint64_t *ret, uint64_t *ret_lost);
int __wrap_op_capture_counters(struct op_capture *c, uint64_t *ret, uint64_t *ret_lost)
{
	if (ret_lost)
		memset(ret_lost, 0, OP_EVENT_MAX * sizeof(*ret_lost));
	memset(ret, 0, OP_COUNTERS * sizeof(*ret));
	return 0;
}

static struct op_capture *capture_new(void)
{
	struct op_capture *c = calloc(1, sizeof(*c));
	struct epoll_event event = { .events = EPOLLIN };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	CHECK(c);
	c->page_size = (uint32_t)page;
	memset(c->map, 0xff, sizeof(c->map));
	memset(c->kinds.program, 0xff, sizeof(c->kinds.program));
	memset(c->kinds.hook, 0xff, sizeof(c->kinds.hook));
	memset(c->kinds.begun, 0xff, sizeof(c->kinds.begun));
	c->control = calloc(1, sizeof(*c->control));
	CHECK(c->control);
	c->map[OP_MAP_RING] = memfd_create("ring", MFD_CLOEXEC);
	CHECK_INT(ftruncate(c->map[OP_MAP_RING], (off_t)(2 * page + 2 * RING_BYTES)), 0);
	CHECK_OK(op_ring_open(&c->ring, c->map[OP_MAP_RING], RING_BYTES));
	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	event.data.fd = c->timer_fd;
	CHECK_OK(epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->timer_fd, &event));
	return c;
}

static void capture_free(struct op_capture *c)
{
	op_ring_close(&c->ring);
	CHECK_INT(close(c->map[OP_MAP_RING]), 0);
	CHECK_INT(close(c->timer_fd), 0);
	CHECK_INT(close(c->epoll_fd), 0);
	op_vec_clear(&c->sideband.merge);
	free(c->control);
	free(c);
}

/* A handle that runs, with no CPU time for work, and with records that wait. */
static void host_init(struct host *h)
{
	struct op_record record = { .header = WORLD_RECORD_HEADER,
				    .pid = world_self(),
				    .tid = world_self(),
				    .comm = "thread",
				    .end = OP_END_COMPLETE };
	struct otelprof *p = &h->p;
	int i;

	memset(h, 0, sizeof(*h));
	world_init(&h->world, &(struct world_options){ .allowance = &h->p.allowance });
	world_learn_self(&h->world);
	op_window_reset(h->world.window);
	h->capture = capture_new();
	p->maker.pid = getpid();
	p->capture = h->capture;
	p->processes = h->world.p;
	p->sampler = h->world.sampler;
	p->window = h->world.window;
	CHECK_OK(op_handle_init_waits(p));
	CHECK_OK(op_exporters_new(&p->log, &p->exporters));
	CHECK_OK(op_parts_new(&(struct op_part_config){ .capture = p->capture,
							.processes = p->processes,
							.sampler = p->sampler,
							.sample_rate_hz = 100 },
			      &p->parts));
	p->targets = op_parts_targets(p->parts);
	CHECK_OK(op_session_new(&(struct op_session_config){ .log = &p->log,
							     .allowance = &p->allowance,
							     .capture = p->capture,
							     .processes = p->processes,
							     .sampler = p->sampler,
							     .window = p->window,
							     .arena = h->world.arena,
							     .parts = p->parts },
				&p->session));
	p->running = true;
	p->rate_hz = p->budget.asked_hz = 100;
	p->config.cpu_budget_permille = BUDGET_PERMILLE;
	p->budget.share = BUDGET_PERMILLE / 1000.0;
	op_allowance_give_cpu(&p->allowance, -1);
	for (i = 0; i < RECORDS; i++) {
		record.time_ns = op_clock_monotonic_ns();
		CHECK_OK(op_postponed_add(&h->p.session->postponed, record.pid,
					  record.time_ns, &record, sizeof(record)));
	}
}

static void host_deinit(struct host *h)
{
	struct otelprof *p = &h->p;

	op_session_free(p->session);
	op_parts_free(p->parts);
	op_exporters_free(p->exporters);
	/* with the lock, as otelprof_free() has it */
	(void)pthread_mutex_lock(&p->waits.lock);
	op_handle_deinit_waits(p, false);
	op_log_deinit(&p->log);
	world_deinit(&h->world);
	capture_free(h->capture);
}

static void check_all_taken(struct host *h)
{
	CHECK_INT(op_session_counts(h->p.session)->records, RECORDS);
	CHECK_INT(op_window_samples(h->world.window), RECORDS);
	CHECK_INT(h->p.session->postponed.len, 0);
}

static void test_stop_processes_waiting_records(void)
{
	struct host h;

	host_init(&h);
	CHECK_OK(otelprof_stop(&h.p));
	check_all_taken(&h);
	host_deinit(&h);
}

static void on_window(void *data, const struct otelprof_window *window)
{
	*(uint64_t *)data = window->end_time_ns - window->start_time_ns;
}

/* The window ends when sampling stopped, however late it is written. */
static void test_the_last_window_ends_with_sampling(void)
{
	uint64_t begin_ns = op_clock_monotonic_ns();
	uint64_t length_ns = 0;
	struct host h;

	host_init(&h);
	h.p.window_start_ns = begin_ns;
	h.p.events.window = on_window;
	h.p.events.userdata = &length_ns;
	CHECK_OK(otelprof_stop(&h.p));
	while (op_clock_monotonic_ns() < h.p.stopped_ns + LATE_NS)
		continue;
	CHECK_INT(otelprof_export(&h.p), RECORDS);
	CHECK_INT(length_ns, h.p.stopped_ns - begin_ns);
	CHECK_INT(h.p.window_start_ns, h.p.stopped_ns);
	host_deinit(&h);
}

static void keep_window(void *data, const struct otelprof_window *window)
{
	*(struct otelprof_window *)data = *window;
}

/* A step of the wall clock in a window moves the next one, and is no part of a
 * duration. */
static void test_a_step_of_the_clock_is_no_duration(void)
{
	uint64_t begin_ns = op_clock_monotonic_ns();
	struct otelprof_window window = { 0 };
	struct host h;

	host_init(&h);
	h.p.window_start_ns = begin_ns;
	h.p.events.window = keep_window;
	h.p.events.userdata = &window;
	op_processes_set_clock(h.p.processes, WALL_NS);
	CHECK_OK(otelprof_stop(&h.p));
	CHECK_INT(otelprof_export(&h.p), RECORDS);
	CHECK_INT(window.start_time_ns, begin_ns + WALL_NS);
	CHECK_INT(window.end_time_ns, h.p.stopped_ns + WALL_NS);
	h.p.stopped_ns += LATE_NS;
	CHECK_OK(otelprof_export(&h.p));
	CHECK_INT(window.start_time_ns, h.p.stopped_ns - LATE_NS + WALL_NS + STEP_NS);
	CHECK_INT(window.end_time_ns - window.start_time_ns, LATE_NS);
	host_deinit(&h);
}

/* The budget goes on in a pause, so that there is CPU time again. */
static void test_a_pause_gives_time(void)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	struct host h;
	int i;

	host_init(&h);
	h.p.paused = true;
	for (i = 0; i < POLLS && h.p.session->postponed.len; i++) {
		/* the timer of the capture is not waited for */
		CHECK_OK(otelprof_wakeup(&h.p));
		CHECK(otelprof_poll(&h.p, 0) >= 0);
		(void)nanosleep(&pause, NULL);
	}
	check_all_taken(&h);
	CHECK_INT(h.p.rate_hz, 100);
	host_deinit(&h);
}

struct first_sample {
	struct op_record record;
	struct op_registers registers;
	uint64_t stack[8];
};

/* A first sample, which waits for names and a table. */
static void add_first_sample(struct host *h, struct first_sample *f)
{
	*f = (struct first_sample){ .record = { .header = WORLD_RECORD_HEADER } };
	f->record.header.bytes = sizeof(*f);
	f->record.pid = f->record.tid = world_self();
	f->record.time_ns = op_clock_monotonic_ns();
	f->record.end = OP_END_UNKNOWN;
	f->record.stack_bytes = sizeof(f->stack);
	f->registers.pc = world_native((const void *)known_function);
	f->registers.sp = (uint64_t)(uintptr_t)f->stack;
	CHECK_OK(op_postponed_add(&h->p.session->postponed, f->record.pid,
				  f->record.time_ns, f, sizeof(*f)));
}

/* What no time is left for is taken without a table. */
static void test_the_rest_is_taken(void)
{
	const struct op_session_counts *counts;
	struct first_sample first;
	struct host h;

	host_init(&h);
	counts = op_session_counts(h.p.session);
	add_first_sample(&h, &first);
	op_allowance_until(&h.p.allowance, op_allowance_now(&h.p.allowance));
	CHECK_INT(op_sampler_add_record(h.p.sampler, &first, sizeof(first), h.p.window),
		  -EINPROGRESS);
	op_session_take_postponed(h.p.session);
	CHECK_INT(counts->records, RECORDS + 1);
	CHECK_INT(counts->dropped[OP_DROP_RECORD], 0);
	CHECK_INT(op_window_samples(h.p.window), RECORDS + 1);
	CHECK_INT(h.p.session->postponed.len, 0);
	host_deinit(&h);
}

/* Returns the bytes of names that the stop loaded. */
static size_t stop_within(int timeout_ms)
{
	struct first_sample first;
	struct host h;
	size_t bytes;

	host_init(&h);
	h.p.config.cpu_budget_permille = 0;
	op_session_begin(h.p.session, false);
	add_first_sample(&h, &first);
	CHECK_OK(otelprof_stop_within(&h.p, timeout_ms));
	CHECK_INT(op_session_counts(h.p.session)->records, RECORDS + 1);
	CHECK_INT(op_window_samples(h.p.window), RECORDS + 1);
	CHECK_INT(h.p.session->postponed.len, 0);
	bytes = op_processes_images(h.p.processes)->symbol_bytes;
	host_deinit(&h);
	return bytes;
}

/* A host that must end at once waits for no names, also without a budget of CPU time. */
static void test_a_stop_at_once_loads_no_names(void)
{
	CHECK(stop_within(5000) > 0);
	CHECK_INT(stop_within(0), 0);
}

/* A record that waits is not taken before the events that are older than it. */
static void test_events_come_first(void)
{
	struct op_session_records records = { 0 };
	struct host h;

	host_init(&h);
	op_allowance_give_cpu(&h.p.allowance, INT64_MAX);
	h.capture->sideband.drained_ns = 1;
	h.capture->sideband.left = 1;
	CHECK_OK(op_session_take_records(h.p.session, &records));
	CHECK_INT(op_window_samples(h.world.window), 0);
	CHECK_INT(h.p.session->postponed.len, 1);
	h.capture->sideband.left = 0;
	CHECK_OK(op_session_take_records(h.p.session, &records));
	check_all_taken(&h);
	host_deinit(&h);
}

TEST_MAIN({ "stop_processes_waiting_records", test_stop_processes_waiting_records },
	  { "the_last_window", test_the_last_window_ends_with_sampling },
	  { "a_step_of_the_clock", test_a_step_of_the_clock_is_no_duration },
	  { "a_pause_gives_time", test_a_pause_gives_time },
	  { "the_rest_is_taken", test_the_rest_is_taken },
	  { "events_come_first", test_events_come_first },
	  { "a_stop_at_once_loads_no_names", test_a_stop_at_once_loads_no_names })
