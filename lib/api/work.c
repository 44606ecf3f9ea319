/* SPDX-License-Identifier: Apache-2.0 */
/* Processes the records that wait in the ring. */
#include <errno.h>

#include "api/handle.h"
#include "base/io.h"

void op_handle_wake(struct otelprof *p)
{
	uint64_t next_ns = op_parts_next_ns(p->parts);

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
	struct op_capture_work work = { 0 };
	int r;

	p->turn = op_turn_begin(p->config.poll_budget_ms);
	op_processes_set_turn(p->processes, &p->turn);
	op_parts_poll(p->parts, OP_PART_BEFORE_RING, &p->turn, p->window);
	r = op_capture_poll(p->capture, p->processes, p->sampler, p->window, &p->turn,
			    &work);
	op_parts_poll(p->parts, OP_PART_AFTER_RING, &p->turn, p->window);
	op_handle_wake(p);
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
