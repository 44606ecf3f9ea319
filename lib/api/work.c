/* SPDX-License-Identifier: Apache-2.0 */
/* Processes the records that wait in the ring. */
#include <errno.h>

#include "api/handle.h"
#include "base/io.h"

void op_handle_count_golang(struct otelprof *p, const struct op_golang_taken *taken)
{
	p->threads += taken->taken;
	p->dropped[OP_DROP_WINDOW] += taken->dropped_window;
	p->dropped[OP_DROP_MEMORY] += taken->dropped_memory;
	p->dropped[OP_DROP_RECORD] += taken->dropped_record;
	p->dropped[OP_DROP_MOVED] += taken->dropped_moved;
	p->dropped[OP_DROP_LATE] += taken->dropped_late;
}

enum {
	RULES_PARTS = 10, /* a poll's share for looking for processes that rules mean */
};

/* The earlier of two times, of which 0 is none. */
static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a && (!b || a < b) ? a : b;
}

/* The capture's timer wakes for the next slice of a snapshot, and for rules that end. */
static void pace(struct otelprof *p)
{
	op_capture_wake_at(p->capture, earlier(op_golang_next_ns(p->golang),
					       op_rule_set_next_ns(p->targets)));
}

/* After the capture, which told of new processes. */
static void look_for_targets(struct otelprof *p)
{
	uint64_t now_ns = op_clock_monotonic_ns();
	uint64_t end_ns = op_turn_part(&p->turn, now_ns, RULES_PARTS);
	uint64_t next_ns;

	op_rule_set_work(p->targets, now_ns, end_ns - now_ns);
	next_ns = op_rule_set_work_ns(p->targets);
	if (next_ns)
		op_capture_wake_before(p->capture, next_ns);
}

static void count_work(struct otelprof *p, const struct op_capture_work *work)
{
	p->records += work->records;
	p->dropped[OP_DROP_RECORD] += work->dropped_record;
	p->dropped[OP_DROP_WINDOW] += work->dropped_window;
	p->dropped[OP_DROP_MEMORY] += work->dropped_memory;
}

int op_handle_poll(struct otelprof *p, struct op_capture_work *ret)
{
	struct op_golang_taken taken = { 0 };
	struct op_capture_work work = { 0 };
	int r;

	p->turn = op_turn_begin(p->config.poll_budget_ms);
	op_processes_set_turn(p->processes, &p->turn);
	/* before the capture, which sets its timer */
	op_golang_poll(p->golang, p->window, &p->turn, &taken);
	op_handle_count_golang(p, &taken);
	pace(p);
	r = op_capture_poll(p->capture, p->processes, p->sampler, p->window, &p->turn,
			    &work);
	look_for_targets(p);
	if (op_heap_poll(p->heap, &p->turn))
		op_capture_wake_before(p->capture, p->turn.end_ns - p->turn.whole_ns);
	op_processes_set_turn(p->processes, &(struct op_turn){ 0 });
	if (work.kernel_symbols)
		op_kernel_symbols_stale(p->kernel);
	count_work(p, &work);
	*ret = work;
	return r;
}

int op_handle_drain(struct otelprof *p, uint64_t limit_ns)
{
	uint64_t until_ns = op_clock_monotonic_ns() + limit_ns;
	struct op_capture_work work;
	int r;

	do {
		r = op_handle_poll(p, &work);
		if (r < 0 && r != -EINTR)
			return r;
	} while (!work.idle && op_clock_monotonic_ns() < until_ns);
	return 0;
}

int op_handle_drain_all(struct otelprof *p, uint64_t limit_ns)
{
	struct op_capture_work work = { 0 };
	int r;

	/* There is no later: a start begins with what the budget has by then. */
	if (p->config.cpu_budget_permille)
		op_processes_allow_work(p->processes, INT64_MAX);
	r = op_handle_drain(p, limit_ns);
	/* What is left is taken without names: those of one large file take seconds. */
	if (p->config.cpu_budget_permille)
		op_processes_allow_work(p->processes, 0);
	op_capture_take_postponed(p->capture, p->processes, p->sampler, p->window, &work);
	count_work(p, &work);
	return r;
}
