/* SPDX-License-Identifier: Apache-2.0 */
/* The insides of a handle, shared by the files of this folder. */
#ifndef OP_API_HANDLE_H
#define OP_API_HANDLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "api/budget.h"
#include "api/limit.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "code/symbol/kernel.h"
#include "code/unwind/arena.h"
#include "code/unwind/rules.h"
#include "export/exporter.h"
#include "kernel/capture.h"
#include "otelprof/otelprof.h"
#include "parts/parts.h"
#include "parts/rules/rule_set.h"
#include "process/processes.h"
#include "profile/window.h"
#include "sample/sampler.h"
#include "session/session.h"

/* What threads wait for: one call at a time works on a handle. Each public call takes
 * the lock, and releases it while it waits for work or for a delivery. */
struct op_handle_waits {
	pthread_mutex_t lock;
	/* an eventfd: otelprof_wakeup() was called, or the worker has an error */
	int wake_fd;
	int quit_fd;	  /* an eventfd that tells the worker to end */
	pthread_t worker; /* valid while worker_runs (config.threads = 1) */
	bool worker_runs;
	/* why the worker's last poll failed, until otelprof_poll() returns it */
	int worker_error;
};

struct otelprof {
	struct op_handle_waits waits;
	struct op_log log;
	struct otelprof_config config; /* our complete copy */
	struct otelprof_events events;
	struct op_maker maker; /* who called otelprof_init() */
	bool running;
	bool paused;
	bool scanned;
	struct op_capture *capture;
	struct op_arena *arena;
	struct op_unwind_rules *rules;
	struct op_kernel_symbols *kernel;
	struct op_layouts *layouts; /* from layouts_dir; NULL: none */
	struct op_processes *processes;
	struct op_sampler *sampler;
	struct op_window *window;
	struct op_parts *parts;
	struct op_rule_set *targets; /* borrowed from parts */
	struct op_session *session;
	uint64_t kinds; /* the kinds that are on */
	struct op_exporters *exporters;
	uint64_t window_start_ns;    /* CLOCK_MONOTONIC */
	uint64_t stopped_ns;	     /* when sampling stopped; 0: it never did */
	uint64_t lost[OP_EVENT_MAX]; /* by kind, until the last window with samples */
	/* lost at the end of windows; others count their own */
	uint64_t dropped[OP_DROPS];
	/* samples of the window being encoded that were submitted so far */
	uint64_t emitted;
	uint32_t rate_hz;	       /* rate at which the clock ticks */
	struct op_allowance allowance; /* of all work */
	struct op_budget budget;
	struct op_limit limit;
};

/* Returns 0, -EINVAL for NULL, -OTELPROF_E_FORKED in the child of a fork. */
int op_handle_check(struct otelprof *p);

/* Check the handle and take the lock; op_handle_leavep() releases it at the end of the
 * scope. Returns -EDEADLK in a callback of a call on the same handle. */
int op_handle_enter(struct otelprof *p, struct otelprof **ret_held);
void op_handle_leavep(struct otelprof **held);
#define _cleanup_leave_ _cleanup_(op_handle_leavep)
/* Let the exporters of the handle release the lock where they may wait. */
void op_handle_lend_lock(struct otelprof *p);

/* Make the lock and the two descriptors. Returns 0 or -errno. */
int op_handle_init_waits(struct otelprof *p);
/* The lock is held. @forked: in the child of a fork, where the lock may be held for
 * ever. */
void op_handle_deinit_waits(struct otelprof *p, bool forked);

/* Make the parts of the handle by @p->config, and free them. @forked: in the child of a
 * fork. */
int op_handle_make(struct otelprof *p);
void op_handle_unmake(struct otelprof *p, bool forked);
/* Attach or detach all samplers. The lock is held. Returns 0 or -errno. */
int op_handle_start_sampling(struct otelprof *p);
/* Like op_handle_start_sampling(), but skips probes whose places are gone, so that one
 * of them does not keep the others off after a pause. */
int op_handle_resume_sampling(struct otelprof *p);
void op_handle_stop_sampling(struct otelprof *p);
/* The CPU time that the profiler has used so far, and the samples that did not fit into
 * the ring. The lock is held. Returns 0 or -errno. */
int op_handle_cpu_ns(struct otelprof *p, uint64_t *ret, uint64_t *ret_lost);
/* Set the clock to @hz, and publish each rate's share of its ticks to the programs. The
 * lock is held. */
int op_handle_set_clock(struct otelprof *p, uint32_t hz);
/* Call this after rates were added or removed. The clock then ticks at the highest
 * rate, reduced to the budget. */
int op_handle_apply_rates(struct otelprof *p);
/* Make the unwind tables of processes that rules include by number. */
void op_handle_warm_rules(struct otelprof *p);
/* Remove the rules that have expired. */
void op_handle_expire_rules(struct otelprof *p);
/* For the budget, in a poll: set the clock to @hz and export the open window, whose
 * samples have the old period. Takes no snapshots. The lock is held. */
int op_handle_keep_rate(struct otelprof *p, uint32_t hz);
/* The callbacks of the parts, which call p->events. */
struct op_event_handlers op_handle_events(struct otelprof *p);
void op_handle_report_window(struct otelprof *p, uint64_t start_ns, uint64_t end_ns,
			     uint64_t samples);
/* Flush exporter @number, or all if it is 0. The lock is not held. */
int op_handle_flush(struct otelprof *p, uint32_t number, int timeout_ms);
/* Start the worker thread, which does the work from now on. The lock is held. */
int op_worker_start(struct otelprof *p);
/* End the worker if it runs. The lock is not held. Returns 0, -EDEADLK or another
 * -errno. */
int op_worker_stop(struct otelprof *p);

#endif
