/* SPDX-License-Identifier: Apache-2.0 */
/* The window: the samples since the last export or change of the rate. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "api/handle.h"
#include "api/settings/config.h"
#include "base/io.h"
#include "base/macros.h"
#include "profile/otlp/encode.h"

/* Time to process what was sampled before the rate changes. */
static const uint64_t DRAIN_NS = UINT64_C(20000000);

static int submit(void *data, void *bytes, size_t len, uint64_t samples)
{
	struct otelprof *p = data;

	p->emitted += samples;
	/* without memory the exporters count the samples as dropped, and the rest of
	 * the window goes on */
	(void)op_exporters_submit(p->exporters, bytes, len, samples);
	return 0;
}

/* The samples that were lost since the last window, by kind. */
static void take_lost(struct otelprof *p, uint64_t ret[OP_EVENT_MAX])
{
	uint64_t counters[OP_COUNTERS];
	uint64_t all[OP_EVENT_MAX] = { 0 };
	size_t i;

	memset(ret, 0, OP_EVENT_MAX * sizeof(*ret));
	if (op_capture_counters(p->capture, counters, all) < 0)
		return;
	for (i = 0; i < OP_EVENT_MAX; i++)
		all[i] += op_session_counts(p->session)->lost[i] +
			  op_parts_taken(p->parts)->lost[i];
	/* the two halves of wall-clock time are one kind of samples */
	all[OP_EVENT_WALL] += all[OP_EVENT_WALL_TICK];
	all[OP_EVENT_HEAP_LIVE] += counters[OP_COUNT_UNTRACKED];
	for (i = 0; i < OP_EVENT_MAX; i++) {
		ret[i] = all[i] - p->lost[i];
		p->lost[i] = all[i];
	}
}

static int encode_window(struct otelprof *p, uint64_t start_ns, uint64_t end_ns)
{
	struct op_otlp_options options = {
		.max_bytes = op_exporters_max_request(p->exporters),
		.start_ns = start_ns,
		.end_ns = end_ns,
		.version = OTELPROF_VERSION,
		.attributes = (const struct op_otlp_attribute *)p->config.attributes,
		.attributes_len = p->config.attributes_len,
	};
	uint64_t left_out = 0;
	uint64_t samples = op_window_samples(p->window);
	uint64_t lost[OP_EVENT_MAX];
	int r;

	take_lost(p, lost);
	options.lost = lost;
	p->emitted = 0;
	r = op_otlp_encode(p->window, &options, submit, p, &left_out);
	p->dropped[OP_DROP_ENCODE] += left_out;
	p->dropped[OP_DROP_MEMORY] += samples - p->emitted - left_out;
	return r;
}

/* A closed window. */
struct closed {
	struct otelprof *p;
	uint64_t samples;
	uint64_t end_ns; /* CLOCK_MONOTONIC */
	uint64_t start_unix_ns;
	uint64_t end_unix_ns;
};

/* The end of the window, CLOCK_MONOTONIC: now, or when sampling stopped. Samples that are
 * read late do not move it. */
static uint64_t end_of_window(const struct otelprof *p)
{
	return p->running || p->stopped_ns < p->window_start_ns ? op_clock_monotonic_ns()
								: p->stopped_ns;
}

static int emit(void *ctx)
{
	struct closed *w = ctx;
	struct otelprof *p = w->p;

	w->end_ns = end_of_window(p);
	w->samples = op_window_samples(p->window);
	w->start_unix_ns = op_processes_realtime_ns(p->processes, p->window_start_ns);
	w->end_unix_ns = op_processes_realtime_ns(p->processes, w->end_ns);
	if (w->samples && op_exporters_len(p->exporters))
		return encode_window(p, w->start_unix_ns, w->end_unix_ns);
	p->dropped[OP_DROP_NOWHERE] += w->samples;
	return 0;
}

static int close_window(struct otelprof *p, enum op_part_end end)
{
	struct closed window = { .p = p };
	const struct op_window_end how = {
		.running = p->running,
		.why = end,
		.period_ns = op_rule_rates_period_ns(op_rule_set_rates(p->targets), 0,
						     p->rate_hz),
		.emit = emit,
		.ctx = &window,
	};
	int r = op_session_end_window(p->session, &how);

	p->window_start_ns = window.end_ns;
	op_handle_report_window(p, window.start_unix_ns, window.end_unix_ns,
				window.samples);
	if (r < 0)
		return op_fail(&p->log, r,
			       "the window could not be encoded: %s; its samples are "
			       "counted as dropped",
			       otelprof_strerror(r));
	return (int)OP_MIN(window.samples, (uint64_t)INT_MAX);
}

int otelprof_export(struct otelprof *p)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	int r = op_handle_enter(p, &held);

	return r < 0 ? r : close_window(p, OP_PART_END_EXPORT);
}

static int change_rate(struct otelprof *p, uint32_t hz, enum op_part_end end)
{
	int r = op_handle_set_clock(p, hz);

	if (r < 0)
		return r;
	r = close_window(p, end);
	return r < 0 ? r : 0;
}

int op_handle_keep_rate(struct otelprof *p, uint32_t hz)
{
	return change_rate(p, hz, OP_PART_END_BUDGET);
}

int otelprof_set_rate(struct otelprof *p, uint32_t sample_rate_hz)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	int r = op_handle_enter(p, &held);

	if (r < 0)
		return r;
	if (sample_rate_hz < 1 || sample_rate_hz > OP_CONFIG_RATE_HZ_MAX)
		return op_fail(&p->log, -EINVAL, "the rate is %u and must be 1 to %d",
			       sample_rate_hz, OP_CONFIG_RATE_HZ_MAX);
	op_rule_set_rates(p->targets)->hz[0] = sample_rate_hz;
	p->budget.asked_hz = op_rule_rates_top(op_rule_set_rates(p->targets));
	p->budget.wanted_hz = 0;
	/* The rest goes into the next window, with its own period. */
	r = op_session_drain(p->session, DRAIN_NS);
	return r < 0 ? r : change_rate(p, p->budget.asked_hz, OP_PART_END_RATE);
}
