/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and frees the parts of a handle. Records flow from capture through processes
 * into the window. otelprof_export() encodes the window and passes the requests to the
 * exporters.
 */
#include <stdio.h>

#include "api/handle.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "base/macros.h"
#include "runtime/runtime.h"

enum {
	/* part of memory_limit_bytes, and the most */
	WINDOW_PART = 4,
	WINDOW_MOST = 64 << 20,
};

/* The kernel's times are from the host's clocks. */
static void warn_of_time_namespace(struct otelprof *p)
{
	struct op_clock_offsets ahead = op_clock_offsets();

	if (!ahead.monotonic_ns && !ahead.boottime_ns)
		return;
	op_log(&p->log, OP_LOG_WARNING,
	       "this process has clocks of its own (a time namespace): times of samples are "
	       "%.3f s off, times since boot %.3f s, and processes may be taken for others; "
	       "run it in the host's time namespace",
	       (double)ahead.monotonic_ns / OP_NS_PER_S,
	       (double)ahead.boottime_ns / OP_NS_PER_S);
}

static int make_capture(struct otelprof *p)
{
	const struct otelprof_config *config = &p->config;
	struct op_capture_config capture = {
		.log = &p->log,
		.flags = config->flags,
		.sample_rate_hz = config->sample_rate_hz,
		.max_frames = config->max_frames,
		.max_processes = config->max_processes,
		.ring_bytes = config->ring_bytes,
		.kinds = config->kinds,
		.off_cpu_min_ns = config->off_cpu_min_ns,
		.off_cpu_samples = config->off_cpu_samples,
		.probe_samples = config->probe_samples,
		.procfs_root = config->procfs_root,
		.sysfs_root = config->sysfs_root,
	};
	int r = op_capture_new(&capture, &p->capture);

	warn_of_time_namespace(p);
	if (r == 0)
		r = op_arena_new(op_capture_arena_ops(), p->capture,
				 config->memory_budget_bytes, &p->arena);
	if (r == 0)
		r = op_unwind_rules_new(op_capture_unwind_rules(p->capture),
					OP_UNWIND_RULES_MAX, &p->rules);
	if (r == 0)
		r = op_kernel_symbols_new(config->procfs_root, config->sysfs_root,
					  &p->log, &p->kernel);
	return r;
}

static int make_processes(struct otelprof *p)
{
	const struct otelprof_config *config = &p->config;
	struct op_processes_config processes = {
		.log = &p->log,
		.procfs_root = config->procfs_root,
		.runtimes_off = config->runtimes_off,
		.flags = config->flags,
		.symbol_budget_bytes = config->symbol_budget_bytes,
		.max_processes = config->max_processes,
		.sysfs_root = config->sysfs_root,
		.service_name = config->service_name,
		.environment = config->environment,
		.environment_len = config->environment_len,
		.realtime_offset_ns = op_clock_monotonic_offset_ns(),
		.allowance = &p->allowance,
		.arena = p->arena,
		.rules = p->rules,
		.ctx = p->capture,
		.publish = op_capture_publish,
		.unpublish = op_capture_unpublish,
		.publish_context = op_capture_publish_context,
		.need_runtimes = op_capture_need_runtimes,
		.map_waits = op_capture_map_waits,
		.drained_ns = op_capture_drained_ns,
	};
	int r = 0;

	if (config->memory_limit_bytes) {
		p->allowance.may_take = op_limit_may_take;
		p->allowance.may_take_ctx = p;
	}
	if (config->layouts_dir)
		r = op_runtime_layouts(config->layouts_dir, &p->log, &p->layouts);
	processes.layouts = p->layouts;
	if (r == 0)
		r = op_processes_new(&processes, &p->processes);
	if (r < 0)
		return r;
	return op_sampler_new(
		&(struct op_sampler_config){
			.processes = p->processes,
			.kernel = p->kernel,
			.rules = op_capture_unwind_rules(p->capture) },
		&p->sampler);
}

static int make_parts(struct otelprof *p)
{
	int r = op_parts_new(
		&(struct op_part_config){ .log = &p->log,
					  .capture = p->capture,
					  .processes = p->processes,
					  .sampler = p->sampler,
					  .sysfs_root = p->config.sysfs_root,
					  .sample_rate_hz = p->config.sample_rate_hz },
		&p->parts);

	if (r < 0)
		return r;
	p->targets = op_parts_targets(p->parts);
	p->kinds = p->config.kinds;
	return op_handle_set_clock(p, p->rate_hz);
}

static int make_session(struct otelprof *p)
{
	const struct op_session_config config = {
		.log = &p->log,
		.procfs_root = op_processes_config(p->processes)->procfs_root,
		.poll_ms = p->config.poll_budget_ms,
		.allowance = &p->allowance,
		.capture = p->capture,
		.arena = p->arena,
		.kernel = p->kernel,
		.processes = p->processes,
		.sampler = p->sampler,
		.window = p->window,
		.parts = p->parts,
	};

	return op_session_new(&config, &p->session);
}

/* The open window cannot be evicted. At its limit samples are dropped and counted. */
static int make_window(struct otelprof *p)
{
	const struct otelprof_config *config = &p->config;
	struct op_window_config window = {
		.period_ns = OP_NS_PER_S / config->sample_rate_hz,
		.limit_bytes = OP_MIN(config->memory_limit_bytes / WINDOW_PART,
				      (uint64_t)WINDOW_MOST),
	};
	int r = op_window_new(&window, &p->window);

	if (r == 0)
		r = op_exporters_new(&p->log, &p->exporters);
	if (r == 0)
		op_handle_lend_lock(p);
	return r;
}

int op_handle_make(struct otelprof *p)
{
	int r = make_capture(p);

	if (r == 0)
		r = make_processes(p);
	if (r == 0)
		r = make_parts(p);
	if (r == 0)
		r = make_window(p);
	return r < 0 ? r : make_session(p);
}

void op_handle_unmake(struct otelprof *p, bool forked)
{
	if (forked) {
		if (p->capture)
			op_capture_forked(p->capture);
		if (p->processes)
			op_processes_forked(p->processes);
		if (p->exporters)
			op_exporters_forked(p->exporters);
	} else if (p->capture) {
		op_capture_stop(p->capture);
	}
	op_exporters_free(p->exporters);
	op_session_free(p->session);
	op_window_free(p->window);
	op_parts_free(p->parts);
	op_sampler_free(p->sampler);
	op_processes_free(p->processes);
	op_layouts_free(p->layouts);
	op_kernel_symbols_free(p->kernel);
	op_unwind_rules_free(p->rules);
	op_arena_free(p->arena);
	op_capture_free(p->capture);
}
