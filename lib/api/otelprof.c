/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls that make, start, stop and free a handle, and change what it samples. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/handle.h"
#include "api/settings/config.h"
#include "base/io.h"
#include "base/macros.h"
#include "parts/probes/probes.h"

/* Time in a start to evaluate rules for running processes, before the first sample. */
static const uint64_t RULES_START_NS = UINT64_C(20000000);
/* Time in a start to attach runtimes that run already. */
static const uint64_t RUNTIMES_START_NS = UINT64_C(80000000);

enum {
	/* Time for the last records of the last window. Sampling is over, so there are few. */
	LAST_RECORDS_MS = 5000,
	FLUSH_PAUSE_MS = 20, /* the longest between two checks of the queues */
};

const char *otelprof_version(void)
{
	return OTELPROF_VERSION;
}

static int make_handle(const struct otelprof_config *config, struct otelprof *p)
{
	int r = op_config_init(config, &p->log, &p->config);

	if (r < 0)
		return r;
	p->log.fn = p->config.log;
	p->log.userdata = p->config.log_userdata;
	p->log.level = (int)p->config.log_level;
	p->rate_hz = p->budget.asked_hz = p->config.sample_rate_hz;
	p->budget.share = p->config.cpu_budget_permille / 1000.0;
	/* until the first measurement */
	if (p->config.cpu_budget_permille)
		op_allowance_give_cpu(&p->allowance, INT64_MAX);
	r = op_config_add_host(&p->config);
	return r < 0 ? r : op_handle_make(p);
}

int otelprof_init(const struct otelprof_config *config, struct otelprof_error_info *why,
		  struct otelprof **ret)
{
	struct op_log log = { 0 };
	struct otelprof *p;
	int r;

	/* checks its size, and clears it */
	if (why && op_config_give_error(&log, why) < 0)
		return -EINVAL;
	if (!ret) {
		r = op_fail(&log, -EINVAL, "otelprof_init: ret is NULL");
		if (why)
			(void)op_config_give_error(&log, why);
		return r;
	}
	p = calloc(1, sizeof(*p));
	if (!p) {
		r = op_fail(&log, -ENOMEM, "otelprof_init: there is no memory");
		if (why)
			(void)op_config_give_error(&log, why);
		return r;
	}
	op_maker_begin(&p->maker);
	r = op_handle_init_waits(p);
	if (r == 0)
		r = make_handle(config, p);
	if (r < 0) {
		if (!p->log.error)
			(void)op_fail(&p->log, r, "otelprof_init: %s",
				      otelprof_strerror(r));
		p->log.error = r;
		if (why)
			(void)op_config_give_error(&p->log, why);
		(void)otelprof_free(p);
		return r;
	}
	p->window_start_ns = op_clock_monotonic_ns();
	*ret = p;
	return 0;
}

/* Does a call of this thread on @p wait for a running callback? Only the thread that
 * holds the lock gets true. Others would wait. */
static bool in_callback(struct otelprof *p)
{
	if (pthread_mutex_lock(&p->waits.lock) == EDEADLK)
		return true;
	(void)pthread_mutex_unlock(&p->waits.lock);
	return false;
}

struct otelprof *otelprof_free(struct otelprof *p)
{
	bool forked;

	if (!p)
		return NULL;
	forked = !op_maker_is_here(&p->maker);
	if (!forked && in_callback(p))
		return p;
	if (!forked) {
		(void)op_worker_stop(p);
		/* until the end: the log callback runs meanwhile, and calls from it are
		 * refused */
		(void)pthread_mutex_lock(&p->waits.lock);
	}
	op_handle_unmake(p, forked);
	op_handle_deinit_waits(p, forked);
	op_config_deinit(&p->config);
	op_log_deinit(&p->log);
	op_maker_end(&p->maker);
	free(p);
	return NULL;
}

int otelprof_start(struct otelprof *p)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	struct op_allowance allowance;
	int r = op_handle_enter(p, &held);

	if (r < 0)
		return r;
	if (p->running)
		return op_fail(&p->log, -EALREADY,
			       "otelprof_start: the profiler is already running");
	r = op_capture_listen(p->capture);
	if (r < 0)
		return r;
	op_session_begin(p->session, p->config.cpu_budget_permille);
	/*
	 * Load the walkers before the first tick. The kernel takes some time to verify
	 * them, and samples of that time would fill the ring with stack copies. They
	 * contain the steps of all runtimes, because no poll has time to load one more.
	 */
	op_processes_load_runtimes(p->processes);
	if (!p->scanned && !(p->config.flags & OTELPROF_NO_START_SCAN)) {
		r = op_processes_scan_begin(p->processes);
		if (r < 0)
			return r;
		/* attaches runtimes that run already */
		op_processes_settle_first(p->processes, RUNTIMES_START_NS);
		p->scanned = true;
	}
	/* Before the first tick too, because the kernel's names take a tenth of a
	 * second. */
	op_kernel_symbols_load(p->kernel);
	r = op_capture_load(p->capture);
	if (r < 0)
		return r;
	op_handle_warm_rules(p);
	/* for rules that were added before, because processes may have begun since */
	op_rule_set_on_lost(p->targets);
	allowance = op_allowance_within(NULL, op_clock_monotonic_ns() + RULES_START_NS);
	op_rule_set_work(p->targets, op_clock_monotonic_ns(), &allowance);
	p->window_start_ns = op_clock_monotonic_ns();
	r = p->paused ? 0 : op_handle_start_sampling(p);
	if (r < 0)
		return r;
	p->running = true;
	if (p->config.threads) {
		r = op_worker_start(p);
		if (r < 0) {
			op_handle_stop_sampling(p);
			p->running = false;
			return op_fail(
				&p->log, r,
				"otelprof_start: the worker thread could not be started: %s",
				strerror(-r));
		}
	}
	return 0;
}

int otelprof_stop(struct otelprof *p)
{
	return otelprof_stop_within(p, LAST_RECORDS_MS);
}

int otelprof_stop_within(struct otelprof *p, int timeout_ms)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	int r = op_handle_check(p);

	if (r < 0)
		return r;
	r = op_worker_stop(p);
	if (r == 0)
		r = op_handle_enter(p, &held);
	if (r < 0 || !p->running)
		return r;
	op_parts_snapshot(p->parts, p->window, OP_PART_END_STOP);
	op_handle_stop_sampling(p);
	p->stopped_ns = op_clock_monotonic_ns();
	p->running = false;
	r = op_session_drain_all(p->session,
				 (uint64_t)OP_MAX(timeout_ms, 0) * OP_NS_PER_MS);
	/* the caller has stopped sampling, and closes this window */
	op_parts_snapshot(p->parts, p->window, OP_PART_END_LAST);
	return r;
}

/* Check the queue of exporter @number, or of all if it is 0. @begin: end their
 * back-offs. */
static int flush_once(struct otelprof *p, uint32_t number, bool begin)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	int r = op_handle_enter(p, &held);

	if (r < 0)
		return r;
	if (begin)
		op_exporters_hurry(p->exporters, number);
	return op_exporters_flush(p->exporters, number, 0);
}

int op_handle_flush(struct otelprof *p, uint32_t number, int timeout_ms)
{
	uint64_t start = op_clock_monotonic_ns();
	int pause_ms = 0;
	int first = 0;
	int r;

	for (;;) {
		uint64_t waited_ms;

		r = flush_once(p, number, !pause_ms);
		/* A file that could not be written is not tried again in this flush. The
		 * others go on. */
		if (r < 0 && r != -ETIMEDOUT && !first)
			first = r;
		waited_ms = (op_clock_monotonic_ns() - start) / OP_NS_PER_MS;
		if (r >= 0 || r == -EDEADLK || r == -ENOENT || r == -OTELPROF_E_FORKED ||
		    (timeout_ms >= 0 && waited_ms >= (uint64_t)timeout_ms))
			return first ?: r;
		/* Sleep without the lock: a mutex that is locked again at once leaves
		 * other threads no time. */
		pause_ms = pause_ms ? OP_MIN(2 * pause_ms, (int)FLUSH_PAUSE_MS) : 1;
		if (timeout_ms >= 0)
			pause_ms = OP_MIN(pause_ms, timeout_ms - (int)waited_ms);
		(void)poll(NULL, 0, pause_ms);
	}
}

int otelprof_flush(struct otelprof *p, int timeout_ms)
{
	int r = op_handle_check(p);

	return r < 0 ? r : op_handle_flush(p, 0, timeout_ms);
}

int otelprof_abandon(struct otelprof *p)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	int r = op_handle_enter(p, &held);

	if (r == 0)
		op_exporters_abandon(p->exporters);
	return r;
}

int otelprof_set_kinds(struct otelprof *p, uint64_t kinds)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	int r = op_handle_enter(p, &held);
	int parts;

	if (r < 0)
		return r;
	if (!kinds)
		return op_fail(&p->log, -EINVAL, "otelprof_set_kinds: no kind is given");
	r = op_config_kinds(kinds, &p->log);
	if (r < 0)
		return r;
	p->kinds = kinds;
	r = op_capture_set_kinds(p->capture, kinds);
	parts = op_parts_set_kinds(p->parts, p->running && !p->paused ? kinds : 0);
	return r < 0 ? r : parts;
}

int otelprof_set_probes(struct otelprof *p, const char *const *specs, size_t len)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	size_t i;
	int r = op_handle_enter(p, &held);

	if (r < 0)
		return r;
	if (len && !specs)
		return op_fail(&p->log, -EINVAL, "otelprof_set_probes: specs is NULL");
	for (i = 0; i < len; i++)
		if (!specs[i])
			return op_fail(&p->log, -EINVAL,
				       "otelprof_set_probes: probe %zu is NULL", i);
	return op_probes_set(op_parts_probes(p->parts), specs, len);
}

int otelprof_last_error(struct otelprof *p, struct otelprof_error_info *ret)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	int r;

	if (!p || !ret)
		return -EINVAL;
	/* The child of a fork has one thread, so it needs no lock. Nobody would release a
	 * lock that was held at the fork. */
	r = op_maker_is_here(&p->maker) ? op_handle_enter(p, &held) : 0;
	if (r < 0)
		return r;
	return p->log.error ? op_config_give_error(&p->log, ret) : -ENODATA;
}
