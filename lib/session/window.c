/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a window: last snapshots, then each part begins a new one. */
#include "profile/window.h"
#include "base/io.h"
#include "base/log.h"
#include "code/unwind/arena.h"
#include "process/processes.h"
#include "sample/sampler.h"
#include "session/state.h"

/* Time to process the samples of idle time. */
static const uint64_t IDLE_DRAIN_NS = UINT64_C(20000000);

/* User space changes tables rarely, so this process unmaps the slabs until then. */
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

int op_session_end_window(struct op_session *s, const struct op_window_end *end)
{
	int r;

	if (end->running && op_capture_end_idle(s->config.capture))
		(void)op_session_drain(s, IDLE_DRAIN_NS);
	if (end->running)
		op_parts_snapshot(s->config.parts, s->config.window, end->why);
	r = end->emit(end->ctx);
	op_window_reset(s->config.window);
	op_window_set_period(s->config.window, end->period_ns);
	op_processes_window_end(s->config.processes, end->why != OP_PART_END_EXPORT);
	op_sampler_window_end(s->config.sampler);
	op_capture_next_window(s->config.capture);
	rest_arena(s);
	op_processes_set_clock(s->config.processes, op_clock_monotonic_offset_ns());
	return r;
}
