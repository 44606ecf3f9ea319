/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a window: last snapshots, then each part begins anew. */
#include "profile/window.h"
#include "base/io.h"
#include "base/log.h"
#include "code/unwind/arena.h"
#include "process/processes.h"
#include "sample/sampler.h"
#include "session/state.h"

/* Time for what is left of the snapshots that polls take in parts. */
static const uint64_t FINISH_NS = UINT64_C(50000000);

/* User space changes tables rarely: the slabs are unmapped from this process until it
 * does. */
static void rest_arena(struct op_session *s)
{
	struct op_arena_stats stats;

	op_arena_rest(s->config.arena);
	op_arena_get_stats(s->config.arena, &stats);
	if (stats.map_failures != s->map_failures)
		op_log(s->config.log, OP_LOG_WARNING,
		       "unwind tables could not be mapped %llu times: there is not enough "
		       "memory, and stacks are cut short",
		       (unsigned long long)(stats.map_failures - s->map_failures));
	s->map_failures = stats.map_failures;
}

static void take_snapshots(struct op_session *s, const struct op_window_end *end)
{
	if (end->threads)
		op_session_take_threads(s);
	if (end->heap)
		op_session_take_heap(s);
	if (!end->running)
		return;
	/* A budget changes the rate because of what was spent: a snapshot now, or one that
	 * follows, would be spent again. */
	if (end->early)
		op_session_parts_end_early(s);
	op_session_finish_parts(s, FINISH_NS);
}

int op_session_end_window(struct op_session *s, const struct op_window_end *end)
{
	int r;

	take_snapshots(s, end);
	r = end->emit(end->ctx, op_clock_realtime_ns());
	op_window_reset(s->config.window);
	op_window_set_period(s->config.window, end->period_ns);
	op_processes_window_end(s->config.processes, end->early);
	op_sampler_window_end(s->config.sampler);
	op_capture_next_window(s->config.capture);
	rest_arena(s);
	op_processes_set_clock(s->config.processes, op_clock_monotonic_offset_ns());
	return r;
}
