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

/* The capture's timer wakes for the next slice of a snapshot, and for rules that end. */
static void pace(struct otelprof *p)
{
	uint64_t rules_ns = op_targets_next_ns(p->targets);
	uint64_t slice_ns = op_golang_next_ns(p->golang);

	op_capture_wake_at(p->capture, slice_ns && (!rules_ns || slice_ns < rules_ns)
					       ? slice_ns
					       : rules_ns);
}

int op_handle_poll(struct otelprof *p, struct op_capture_work *ret)
{
	struct op_golang_taken taken = { 0 };
	struct op_capture_work work = { 0 };
	int r;

	/* before the capture, which sets its timer */
	op_golang_poll(p->golang, p->window, &taken);
	op_handle_count_golang(p, &taken);
	pace(p);
	r = op_capture_poll(p->capture, p->processes, p->sampler, p->window, 0, &work);
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
