/* SPDX-License-Identifier: Apache-2.0 */
/* The insides of a handle, shared by the files of this folder. */
#ifndef OP_API_HANDLE_H
#define OP_API_HANDLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "api/budget.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "capture/capture.h"
#include "control/targets.h"
#include "export/exporter.h"
#include "heap/heap.h"
#include "otelprof/otelprof.h"
#include "probe/probes.h"
#include "process/processes.h"
#include "profile/window.h"
#include "sample/sampler.h"
#include "symbol/kernel.h"
#include "unwind/arena.h"
#include "unwind/rules.h"

/*
 * One call at a time works on a handle: each public call takes the lock, and waits (for work,
 * for a delivery) only while it does not hold it.
 */
struct otelprof {
	pthread_mutex_t lock;
	int wake_fd; /* an eventfd: otelprof_wakeup() was called, or the worker has news */
	int quit_fd;	  /* an eventfd: the worker ends */
	pthread_t worker; /* threads = 1, while worker_runs */
	bool worker_runs;
	int worker_error; /* why its last poll failed, until otelprof_poll() tells */
	struct op_log log;
	struct otelprof_config config; /* ours, whole */
	pid_t owner;		       /* getpid() at otelprof_init() */
	bool running;
	bool scanned;
	struct op_capture *capture;
	struct op_arena *arena;
	struct op_rules *rules;
	struct op_kernel_symbols *kernel;
	struct op_layouts *layouts; /* of layouts_dir; NULL: none */
	struct op_processes *processes;
	struct op_sampler *sampler;
	struct op_window *window;
	struct op_probes *probes;
	struct op_heap *heap;
	uint64_t kinds; /* that are on */
	struct op_exporters *exporters;
	uint64_t window_start_ns; /* Unix time */
	uint64_t records;	  /* taken out of the ring */
	uint64_t threads;	  /* samples of snapshots */
	uint64_t dropped[OP_DROPS];
	uint32_t wanted[OTELPROF_FILTER_RULES]; /* processes that the filter names */
	size_t wanted_len;
	uint64_t map_failures; /* of the arena, already told */
	uint64_t emitted;      /* samples of the window that is being encoded, so far */
	struct op_targets *targets;
	bool paused;
	uint32_t rate_hz; /* of the clock */
	struct op_budget budget;
	uint32_t wanted_hz;  /* by the budget, when nothing waits; 0: as it is */
	uint64_t wanted_ns;  /* since when */
	uint64_t own_ns;     /* CPU time of calls, where there is a budget */
	uint64_t entered_ns; /* of the thread that holds the lock, when it took it */
};

/* Returns 0, -EINVAL for NULL, -OTELPROF_E_FORKED in the child of a fork. */
int op_handle_check(struct otelprof *p);

/*
 * The same, and take the lock: op_handle_leavep() gives it back at the end of the scope.
 * -EDEADLK in a callback of a call on the same handle.
 */
int op_handle_enter(struct otelprof *p, struct otelprof **ret_held);
void op_handle_leavep(struct otelprof **held);
#define _cleanup_leave_ _cleanup_(op_handle_leavep)

/* Of the lock and the descriptors. 0 or -errno. */
int op_handle_init_waits(struct otelprof *p);
/* @forked: in the child of a fork, where the lock may be held for ever. */
void op_handle_deinit_waits(struct otelprof *p, bool forked);

/* Attach the probes, and those of allocations, where they are to be, @running or not; else
 * detach them. The lock is held. */
int op_handle_switch_probes(struct otelprof *p, bool running);
/* Attach what takes samples, or detach it; the lock is held. 0 or -errno. */
int op_handle_start_sampling(struct otelprof *p);
void op_handle_stop_sampling(struct otelprof *p);
/* CPU time that is used until now. The lock is held. 0 or -errno. */
int op_handle_cpu_ns(struct otelprof *p, uint64_t *ret);
/* Let the clock tick at @hz from now on, and tell the kernel what that is to each rate. The lock
 * is held. */
int op_handle_set_clock(struct otelprof *p, uint32_t hz);
/* Rates came or went: let the clock tick at the highest, less what the budget takes of it. */
int op_handle_apply_rates(struct otelprof *p);
/* Remove the rules whose time is over. */
void op_handle_expire_rules(struct otelprof *p);
/* The same, and export the open window. The lock is held. */
int op_handle_change_rate(struct otelprof *p, uint32_t hz);
/* A bounded amount of it: *@ret says what was done. */
int op_handle_poll(struct otelprof *p, struct op_capture_work *ret);
/* What is allocated at this moment, where that is asked for. The lock is held. */
void op_handle_take_heap(struct otelprof *p);
/* Take all that waits out of the ring. The lock is held. */
int op_handle_drain(struct otelprof *p);
/* Flush exporter @number, or all where it is 0; the lock is not held. */
int op_handle_flush(struct otelprof *p, uint32_t number, int timeout_ms);
/* Let one worker thread do the work from now on. The lock is held. */
int op_worker_start(struct otelprof *p);
/* End it, where it runs; the lock is not held. 0 or -EDEADLK. */
int op_worker_stop(struct otelprof *p);

#endif
