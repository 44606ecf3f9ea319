/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that take samples in user space, and rules: each gets its turn in a poll. */
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "parts/goroutines/golang.h"
#include "parts/heap/heap.h"
#include "parts/rules/targets.h"
#include "parts/threads/threads.h"
#include "session/state.h"

enum {
	RULES_PARTS = 10, /* a poll's share for looking for processes that rules mean */
};

static void count_golang(struct op_session *s, const struct op_golang_taken *taken)
{
	struct op_session_counts *n = &s->counts;

	n->threads += taken->taken;
	n->dropped[OP_DROP_WINDOW] += taken->dropped_window;
	n->dropped[OP_DROP_MEMORY] += taken->dropped_memory;
	n->dropped[OP_DROP_RECORD] += taken->dropped_record;
	n->dropped[OP_DROP_MOVED] += taken->dropped_moved;
	n->dropped[OP_DROP_LATE] += taken->dropped_late;
}

void op_session_poll_snapshots(struct op_session *s)
{
	struct op_golang_taken taken = { 0 };

	op_golang_poll(s->config.golang, s->config.window, s->config.allowance, &taken);
	count_golang(s, &taken);
}

static void look_for_targets(struct op_session *s)
{
	uint64_t now_ns = op_clock_monotonic_ns();
	uint64_t end_ns = op_allowance_part(s->config.allowance, now_ns, RULES_PARTS);
	uint64_t next_ns;

	op_targets_work(s->config.targets, now_ns, end_ns - now_ns);
	next_ns = op_targets_work_ns(s->config.targets);
	if (next_ns)
		op_capture_wake_before(s->config.capture, next_ns);
}

void op_session_poll_parts(struct op_session *s)
{
	look_for_targets(s);
	if (op_heap_poll(s->config.heap, s->config.allowance))
		op_capture_wake_before(s->config.capture, 0);
}

uint64_t op_session_parts_next_ns(const struct op_session *s)
{
	uint64_t golang_ns = op_golang_next_ns(s->config.golang);
	uint64_t rules_ns = op_targets_next_ns(s->config.targets);

	return golang_ns && (!rules_ns || golang_ns < rules_ns) ? golang_ns : rules_ns;
}

void op_session_take_threads(struct op_session *s)
{
	struct op_session_counts *n = &s->counts;
	struct op_threads_taken taken = { 0 };
	int r = op_threads_snapshot(s->config.capture, s->config.sampler,
				    s->config.window, &taken);

	if (r < 0)
		op_log(s->config.log, OP_LOG_WARNING,
		       "the snapshot of threads is not complete (%s), ignoring",
		       strerror(-r));
	n->threads += taken.taken;
	n->dropped[OP_DROP_WINDOW] += taken.dropped_window;
	n->dropped[OP_DROP_MEMORY] += taken.dropped_memory;
	n->dropped[OP_DROP_RECORD] += taken.dropped_record;
}

void op_session_take_heap(struct op_session *s)
{
	struct op_session_counts *n = &s->counts;
	struct op_heap_taken taken = { 0 };
	int r = op_heap_snapshot(s->config.heap, s->config.window, &taken);

	if (r < 0)
		op_log(s->config.log, OP_LOG_WARNING,
		       "the allocations in use could not be read (%s), ignoring",
		       strerror(-r));
	n->threads += taken.taken;
	n->dropped[OP_DROP_WINDOW] += taken.dropped_window;
	n->dropped[OP_DROP_MEMORY] += taken.dropped_memory;
}

void op_session_finish_parts(struct op_session *s, uint64_t limit_ns)
{
	struct op_golang_taken taken = { 0 };

	op_golang_finish(s->config.golang, s->config.window, limit_ns, &taken);
	count_golang(s, &taken);
}

void op_session_parts_end_early(struct op_session *s)
{
	op_golang_ends_early(s->config.golang);
}
